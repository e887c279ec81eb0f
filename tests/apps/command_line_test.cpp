#include "apps/learn/command_line.h"

#include "apps/experiment/options.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::cli;

namespace {

struct Program {
  std::int64_t epochs = 10;
  double lr = 0.1;
  bool plots = true;
  OptionTable train;
  OptionTable eval;
  std::vector<Command> commands;
  Program() {
    train.group("Options");
    train.number("epochs", epochs, kPositive, "N", "passes").short_name = "e";
    train.number("lr", lr, kPositive, "X", "rate");
    train.flag("plots", plots, "plots");
    commands = {{.name = "train", .help = "train a model", .options = train, .run = {}},
                {.name = "eval",
                 .help = "measure",
                 .options = eval,
                 .run = {},
                 .argument = "RUN",
                 .argument_help = "a run",
                 .argument_required = true}};
  }
  Parsed parse(const std::vector<std::string>& argv) {
    return parse_command_line(argv, commands, "1.2.3");
  }
  std::string error(const std::vector<std::string>& argv) {
    try {
      const Parsed parsed = parse(argv);
      set_options(train, parsed.values);
      return "accepted";
    } catch (const UsageError& e) {
      return e.what();
    }
  }
};

using Pairs = OptionValues;

}  // namespace

TEST_CASE("options are taken as flags, as pairs and as short names") {
  Program p;
  CHECK((p.parse({"train", "--epochs", "3", "--lr=0.5"}).values ==
         Pairs{{"epochs", "3"}, {"lr", "0.5"}}));
  CHECK((p.parse({"train", "epochs=3", "plots=false"}).values ==
         Pairs{{"epochs", "3"}, {"plots", "false"}}));
  CHECK((p.parse({"train", "-e", "4"}).values == Pairs{{"epochs", "4"}}));
  CHECK((p.parse({"train", "--no-plots"}).values == Pairs{{"plots", "false"}}));
  CHECK((p.parse({"train", "--plots"}).values == Pairs{{"plots", "true"}}));
  CHECK((p.parse({"train", "--epochs", "3", "--epochs", "5"}).values == Pairs{{"epochs", "5"}}));
  const Parsed eval = p.parse({"eval", "runs/train", "-q"});
  CHECK(eval.command->name == "eval");
  CHECK(eval.argument == "runs/train");
  CHECK(eval.quiet);
}

TEST_CASE("what is wrong comes with the nearest right name") {
  Program p;
  CHECK(p.error({"trian"}).find("unknown command 'trian'; did you mean 'train'?") == 0);
  CHECK(p.error({"train", "--epocs", "3"}).find("did you mean '--epochs'?") != std::string::npos);
  CHECK(p.error({"train", "epocs=3"}).find("did you mean '--epochs'?") != std::string::npos);
  CHECK(p.error({"train", "--bogus"}).find("unknown option '--bogus' of 'learn train'") == 0);
  CHECK(p.error({"train", "stray"}).find("unknown argument 'stray'") == 0);
  CHECK(p.error({"train", "--lr", "nan"}) == "--lr: 'nan' is not a finite number");
  CHECK(p.error({"train", "--lr", "-1"}) == "--lr: -1 is not above 0");
  CHECK(p.error({"train", "--lr"}) != "accepted");
  CHECK(p.error({"eval"}).find("RUN") != std::string::npos);
}

TEST_CASE("help and version are printed, not run") {
  Program p;
  CHECK(p.parse({"--help"}).print.find("train a model") != std::string::npos);
  const std::string help = p.parse({"train", "--help"}).print;
  CHECK(help.find("passes [10]") != std::string::npos);
  CHECK(help.find("-e, --epochs N") != std::string::npos);
  CHECK(help.find("--plots, --no-plots ") != std::string::npos);
  CHECK(help.find("{false}") == std::string::npos);
  CHECK(p.parse({"--version"}).print == "learn 1.2.3\n");
  CHECK(p.parse({}).print.find("train") != std::string::npos);
}

TEST_CASE("a program without subcommands has its options at the top") {
  Program p;
  const auto parse = [&](const std::vector<std::string>& argv) {
    return parse_program(argv, "bench", "measures", p.train);
  };
  CHECK((parse({"--epochs", "3", "--no-plots"}).values ==
         Pairs{{"epochs", "3"}, {"plots", "false"}}));
  CHECK(parse({}).values.empty());
  const std::string help = parse({"--help"}).print;
  CHECK(help.find("measures") == 0);
  CHECK(help.find("Usage: bench [OPTIONS]") != std::string::npos);
  CHECK(help.find("passes [10]") != std::string::npos);
  CHECK_THROWS_WITH_AS(parse({"--epocs", "3"}),
                       "unknown option '--epocs' of 'bench'; did you mean '--epochs'?\n"
                       "  'bench --help' lists the options",
                       UsageError);
  CHECK_THROWS_WITH_AS(parse({"stray"}),
                       "unknown argument 'stray' of 'bench'\n  'bench --help' lists the options",
                       UsageError);
  CHECK_THROWS_AS((void)parse({"--epochs"}), UsageError);
}
