#include "apps/learn/cli/command_line.h"

#include "apps/experiment/options.h"

#include <doctest/doctest.h>

#include <stdexcept>

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
    commands = {{.name = "train", .help = "train a model", .options = train},
                {.name = "eval",
                 .help = "measure",
                 .arguments = {{.name = "RUN", .help = "a run", .required = true}},
                 .options = eval}};
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
  CHECK((p.parse({"train", "--no-plots", "--plots"}).values == Pairs{{"plots", "true"}}));
  CHECK((p.parse({"train", "--plots", "--plots=false"}).values == Pairs{{"plots", "false"}}));
  CHECK((p.parse({"train", "--plots"}).values == Pairs{{"plots", "true"}}));
  CHECK((p.parse({"train", "--plots=false"}).values == Pairs{{"plots", "false"}}));
  CHECK((p.parse({"train", "--epochs", "3", "--epochs", "5"}).values == Pairs{{"epochs", "5"}}));
  const Parsed eval = p.parse({"eval", "runs/train", "-q"});
  CHECK(eval.command->name == "eval");
  CHECK(eval.argument() == "runs/train");
  CHECK(eval.quiet);
}

TEST_CASE("a wrong name is reported with the nearest right one") {
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
  CHECK(help.find("passes [default: 10]") != std::string::npos);
  CHECK(help.find("-e, --epochs N") != std::string::npos);
  CHECK(help.find("--[no-]plots ") != std::string::npos);
  CHECK(p.parse({"train", "--help-all"}).print == help);  // nothing is rare
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
  CHECK(help.find("\nmeasures\n") != std::string::npos);
  CHECK(help.find("Usage: bench [OPTION...]") != std::string::npos);
  CHECK(help.find("passes [default: 10]") != std::string::npos);
  CHECK_THROWS_WITH_AS(parse({"--epocs", "3"}),
                       "unknown option '--epocs' of 'bench'; did you mean '--epochs'?\n"
                       "  'bench --help' lists the options",
                       UsageError);
  CHECK_THROWS_WITH_AS(parse({"stray"}),
                       "unknown argument 'stray' of 'bench'\n  'bench --help' lists the options",
                       UsageError);
  CHECK_THROWS_AS((void)parse({"--epochs"}), UsageError);
}

TEST_CASE("an argument may be one word or all that are left") {
  const std::vector<Command> commands{
      {.name = "plot",
       .help = "",
       .arguments = {{.name = "RUN", .help = "", .required = true, .several = true}}},
      {.name = "eval", .help = "", .arguments = {{.name = "RUN", .help = ""}}}};
  const Parsed parsed = parse_command_line({"plot", "a", "b c", "d"}, commands, "1");
  CHECK(parsed.arguments[0] == std::vector<std::string>{"a", "b c", "d"});
  CHECK(parsed.argument() == "a");
  CHECK(parse_command_line({"plot", "a"}, commands, "1").arguments[0].size() == 1);
  CHECK_THROWS_AS((void)parse_command_line({"plot"}, commands, "1"), UsageError);
  CHECK_THROWS_AS((void)parse_command_line({"plot", "a", ""}, commands, "1"), UsageError);
  CHECK_THROWS_WITH_AS((void)parse_command_line({"eval", "a", "b"}, commands, "1"),
                       doctest::Contains("unknown argument 'b' of 'learn eval'"),
                       UsageError);
  CHECK(parse_command_line({"eval"}, commands, "1").argument().empty());
}

TEST_CASE("the name of a command is an argument after another command") {
  const std::vector<Command> commands{
      {.name = "predict",
       .help = "",
       .arguments = {{.name = "RUN", .help = "", .required = true},
                     {.name = "IMAGE", .help = "", .required = true, .several = true}}},
      {.name = "train", .help = ""}};
  const Parsed parsed =
      parse_command_line({"predict", "train", "a", "predict", "-"}, commands, "1");
  CHECK(parsed.command->name == "predict");
  CHECK(parsed.argument() == "train");
  CHECK(parsed.arguments[1] == std::vector<std::string>{"a", "predict", "-"});
  CHECK_THROWS_WITH_AS((void)parse_command_line({"predict", "a"}, commands, "1"),
                       "IMAGE is required: learn predict RUN IMAGE...",
                       UsageError);
}

TEST_CASE("options that have no effect are accepted where a command says so") {
  Program p;
  std::int64_t images = 0;
  bool shuffled = false;
  OptionTable others;
  others.number("images", images, kPositive, "N", "");
  others.flag("shuffled", shuffled, "");
  p.commands[0].without_effect = others;
  const Parsed parsed =
      p.parse({"train", "--images", "5", "--epochs", "3", "--no-shuffled", "images=6"});
  CHECK(parsed.values == Pairs{{"epochs", "3"}});
  CHECK(parsed.without_effect == Pairs{{"images", "6"}, {"shuffled", "false"}});
  CHECK(p.error({"train", "--images"}).find("--images needs a value: --images N") == 0);
  CHECK(p.parse({"train", "--help-all"}).print.find("--images") == std::string::npos);
  CHECK_THROWS_WITH_AS((void)others.with(others),
                       doctest::Contains("the option 'images' is in both tables"),
                       std::logic_error);
}

TEST_CASE("options before the command are moved after it, with their values") {
  Program p;
  CHECK(p.error({"--epochs", "3", "train", "--lr", "0.5"}) ==
        "options come after the command: learn train --epochs 3 --lr 0.5");
  CHECK(p.error({"--epochs=3", "train"}) ==
        "options come after the command: learn train --epochs=3");
  // A value may have the name of a command.
  CHECK(p.error({"--epochs", "eval", "--plots", "train", "a b"}) ==
        "options come after the command: learn train --epochs eval --plots 'a b'");
}
