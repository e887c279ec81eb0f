// How the command line explains itself: help, completion, manual pages, what is said of unknown
// words.
#include "apps/experiment/options.h"
#include "apps/learn/cli/command_help.h"
#include "apps/learn/cli/completion.h"
#include "apps/learn/cli/man_page.h"
#include "apps/learn/cli/unknown_word.h"
#include "framework/terminal/text_table.h"
#include "framework/terminal/word_wrap.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

using namespace learn;
using namespace learn::cli;

namespace {

const std::vector<Command>& commands() {
  static const Commands all;
  return all.all();
}

const Command& command(const std::string& name) {
  return *std::ranges::find(commands(), name, &Command::name);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    longest = std::max(longest, display_width(line));
  return longest;
}

std::string refusal(const std::vector<std::string>& argv) {
  try {
    (void)parse_command_line(argv, commands(), "1");
    return "accepted";
  } catch (const UsageError& e) {
    return e.what();
  }
}

std::vector<std::string> completed(const std::vector<std::string>& words) {
  std::vector<std::string> found;
  std::istringstream lines(completions(commands(), words));
  for (std::string line; std::getline(lines, line);)
    found.push_back(line.substr(0, line.find('\t')));
  return found;
}

bool offers(const std::vector<std::string>& words, const std::string& candidate) {
  return std::ranges::count(completed(words), candidate) == 1;
}

}  // namespace

TEST_CASE("text is broken at spaces, and a word that is too long where it can be") {
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("one two three", 7, 2) == "one two\n  three");
  CHECK(wrapped("one two", 7, 2, 2) == "one\n  two");
  CHECK(wrapped("alpha|beta|gamma", 11) == "alpha|beta|\ngamma");
  CHECK(wrapped("unbreakable", 4) == "unbreakable");
  CHECK(wrapped("a\nb", 9, 1) == "a\n b");
  CHECK(wrapped("", 9).empty());
}

TEST_CASE("help fits any width from 40 columns, without trailing spaces") {
  for (const std::size_t width : {40U, 57U, 80U, 100U}) {
    CAPTURE(width);
    CHECK(longest_line(program_help(commands(), width)) <= width);
    for (const Command& one : commands()) {
      CAPTURE(one.name);
      for (const bool all : {false, true}) {
        const std::string help = command_help(one, "learn ", width, all);
        CHECK(longest_line(help) <= width);
        CHECK_FALSE(holds(help, " \n"));
        CHECK(std::ranges::none_of(help, [](char c) { return c < ' ' && c != '\n'; }));
      }
    }
  }
}

TEST_CASE("short help omits rare options, and says so in its last line") {
  const Command& train = command("train");
  const std::string brief = command_help(train, "learn ", 80, false);
  const std::string full = command_help(train, "learn ", 80, true);
  const auto rare = std::ranges::count_if(train.options.all(), &Option::rare);
  CHECK(rare > 20);
  CHECK(brief.ends_with(fmt::format("\n{} more options: learn train --help-all\n", rare)));
  CHECK_FALSE(holds(full, "more options"));
  for (const Option& option : train.options.all()) {
    const std::string names = "  " + option_names(option);
    CAPTURE(names);
    CHECK(holds(full, names));
    CHECK(holds(brief, names) != option.rare);
  }
  // Options that are only in a command's own table are never rare.
  CHECK_FALSE(holds(command_help(command("doctor"), "learn ", 80, false), "more option"));
}

TEST_CASE("help states each default in one form") {
  const Command& train = command("train");
  CHECK(option_names(*train.options.find("epochs")) == "-e, --epochs N");
  CHECK(option_names(*train.options.find("plots")) == "--[no-]plots");
  CHECK(option_names(*train.options.find("dry-run")) == "--dry-run");
  CHECK(option_names(*train.options.find("precision")) == "--precision WORD");
  CHECK(option_meaning(*train.options.find("epochs")).ends_with(" [default: 10]"));
  CHECK(option_meaning(*train.options.find("model")).ends_with(" [default: small]"));
  CHECK(option_meaning(*train.options.find("plots")).ends_with(" [default: on]"));
  CHECK(holds(option_meaning(*train.options.find("precision")), "; one of: fp32, tf32, fp16, "));
  for (const Command& one : commands())
    for (const Option& option : one.options.all()) {
      CAPTURE(one.name);
      CAPTURE(option.name);
      const std::string help = option.help;
      CHECK_FALSE(holds(help, "default:"));
      CHECK_FALSE(help.ends_with(","));
      CHECK_FALSE(help.ends_with(" "));
    }
}

TEST_CASE("every command has a heading and examples that it accepts") {
  for (const Command& one : commands()) {
    CAPTURE(one.name);
    CHECK_FALSE(heading(one.group).empty());
    CHECK_FALSE(one.examples.empty());
    for (const Example& example : one.examples) {
      CAPTURE(example.line);
      std::vector<std::string> words = split(example.line, " ");
      REQUIRE(words.front() == "learn");
      words.erase(words.begin());
      CHECK(words.front() == one.name);
      Parsed parsed;
      CHECK_NOTHROW(parsed = parse_command_line(words, commands(), "1"));
      CHECK_NOTHROW(set_options(one.options, parsed.values));
    }
  }
}

TEST_CASE("abbreviated, misspelt and foreign words get a suggestion") {
  const auto told = [](const std::vector<std::string>& argv, const std::string& text) {
    const std::string said = refusal(argv);
    CAPTURE(said);
    CAPTURE(text);
    CHECK(holds(said, text));
  };
  told({"train", "--batch", "4"},
       "unknown option '--batch' of 'learn train'; did you mean '--batch-size'?");
  told({"train", "--size", "4"}, "did you mean '--image-size' or '--batch-size'?");
  told({"train", "--batch_size=4"}, "did you mean '--batch-size'?");
  told({"train", "--wieght-decay", "1"}, "did you mean '--weight-decay'?");
  told({"train", "-epochs", "4"},
       "unknown option '-epochs' of 'learn train'; did you mean '--epochs'?");
  told({"train", "epochs"}, "unknown argument 'epochs' of 'learn train'; did you mean '--epochs'?");
  told({"train", "--no-epochs"}, "'--epochs' takes a value and cannot be switched off");
  told({"train", "--confusion"}, "it is an option of 'learn eval'");
  told({"train", "/"}, "data are named by an option\n  learn train --data /");
  told({"train", "--bogus"},
       "unknown option '--bogus' of 'learn train'\n  'learn train --help-all'");
  told({"train", "--pretrained", "--model", "small"},
       "--pretrained needs a value: --pretrained RUN|FILE|last; '--model' is not its value");
  told({"train", "--lr"}, "--lr needs a value: --lr X[:Y]");
  told({"train", "--lr", "--", "x"}, "'--' is not its value");
  told({"train", "--plots=maybe"}, "--plots must be true or false, not 'maybe'");
  told({"train", "--no-plots=no"}, "--no-plots takes no value");
  told({"train", "--quiet=no"}, "--quiet takes no value");
  told({"train", "--epochs="}, "--epochs is empty");
  told({"train", "-qe"}, "epochs");  // by CLI11
  told({"predict", "last"}, "IMAGE is required: learn predict RUN|FILE|last IMAGE... [OPTION...]");
  told({"--config", "x", "train", "--seed", "7"},
       "options come after the command: learn train --config x --seed 7");
  told({"train", "--mixup-alpha", "0.2"},
       "unknown option '--mixup-alpha' of 'learn train'; here use '--mixup A'");
  told({"train", "--randaugment"}, "; here use '--augment randaugment'");
  told({"train", "--world-size", "2"}, "; 'mpirun -n N learn train' trains with N processes");
  told({"train", "--sync-batchnorm"}, "; here use '--sync-bn'");
  told({"tune"}, "unknown command 'tune'; searching for settings is not supported");
  told({"sweep"}, "unknown command 'sweep'; searching for settings is not supported");
  told({"serve"}, "unknown command 'serve'; learn has no server; 'learn predict");
  told({"--confg", "x", "train"},
       "unknown option '--confg' of 'learn train'; did you mean '--config'?");
  told({"--confusion"},
       "it is an option of 'learn eval' and must follow the command: learn eval --confusion");
  told({"--bogus"}, "'--bogus' is not an option of 'learn' itself\n");
  told({"fit"}, "unknown command 'fit'; here use 'learn train'");
  told({"pred", "last"}, "unknown command 'pred'; did you mean 'predict'?");
  for (const auto& [word, here] : {std::pair{"--wd", "--weight-decay X"},
                                   {"--amp", "--precision fp16-amp"},
                                   {"--imgsz", "--image-size N"},
                                   {"--bs", "--batch-size N"},
                                   {"--max_epochs=3", "--epochs N"},
                                   {"--test", "learn eval RUN"}})
    told({"train", word}, fmt::format("; here use '{}'", here));
  // Options that the command does not have are not mentioned.
  CHECK_FALSE(holds(refusal({"eval", "last", "--wd"}), "here use"));
}

TEST_CASE("every suggested equivalent of another tool's word exists") {
  for (const char* const word : {"a",
                                 "wd",
                                 "amp",
                                 "imgsz",
                                 "lr0",
                                 "gpus",
                                 "arch",
                                 "resume-from",
                                 "num-workers",
                                 "overwrite",
                                 "logger",
                                 "lrf",
                                 "benchmark"}) {
    CAPTURE(word);
    CHECK(names_option(foreign_option(word).substr(0, foreign_option(word).find(' ')),
                       command("train").options));
  }
  for (const char* const word : {"test", "fit", "infer", "list", "validate", "resume", "env"}) {
    const std::string here(foreign_command(word));
    CAPTURE(here);
    const std::vector<std::string> words = split(here, " ");
    CHECK(std::ranges::find(commands(), words.at(1), &Command::name) != commands().end());
  }
  CHECK(foreign_option("bogus").empty());
  CHECK(foreign_command("bogus").empty());
  CHECK(absent_feature("bogus").empty());
  CHECK(absent_feature("rand_augment") == absent_feature("rand-augment"));
}

TEST_CASE("help exists for other tools' names, and for features that only they have") {
  const auto refused = [](const std::string& topic, const std::string& text) {
    const Parsed parsed = parse_command_line({"help", topic}, commands(), "1");
    CAPTURE(topic);
    CHECK_THROWS_WITH_AS(
        (void)parsed.command->run(parsed), doctest::Contains(text.c_str()), UsageError);
  };
  refused("ddp", "no help for 'ddp'; 'mpirun -n N learn train' trains with N processes");
  refused("tune", "no help for 'tune'; searching for settings is not supported");
  refused("fit", "no help for 'fit'; here use 'learn train'");
  refused("trian", "no help for 'trian'; did you mean 'train'?");
}

TEST_CASE("commands that try steps accept a line of a training") {
  for (const char* const name :
       {"lr-find", "batch-size-find", "audit", "show-batch", "show-schedule"}) {
    CAPTURE(name);
    const Command& one = command(name);
    for (const Option& option : command("train").options.all()) {
      CAPTURE(option.name);
      const bool known = one.options.find(option.name) != nullptr ||
                         one.without_effect.find(option.name) != nullptr;
      const bool of_one_call = !option.in_config && option.name != "inject" &&
                               option.name != "config" && option.name != "preset";
      CHECK(known == !of_one_call);
    }
    CHECK_FALSE(offers({name, "--"}, "--save-every"));
    CHECK(holds(refusal({name, "--resume", "last"}), "it is an option of 'learn train'"));
  }
}

TEST_CASE("two dashes end the options") {
  const Parsed parsed = parse_command_line(
      {"predict", "last", "--top", "2", "--", "-odd.jpg", "top=3"}, commands(), "1");
  CHECK(parsed.arguments[1] == std::vector<std::string>{"-odd.jpg", "top=3"});
  CHECK(parsed.values == OptionValues{{"top", "2"}});
  CHECK(holds(refusal({"train", "--", "--epochs"}), "unknown option '--epochs' of 'learn train'"));
}

TEST_CASE("commands, options and values are completed") {
  CHECK(offers({"tr"}, "train"));
  CHECK(offers({"--h"}, "--help-all"));
  CHECK(completed({"train", "--batch"}) == std::vector<std::string>{"--batch-size"});
  CHECK(offers({"train", "--no-pl"}, "--no-plots"));
  CHECK(offers({"train", "--"}, "--no-plots"));
  CHECK_FALSE(offers({"train", "--"}, "--plots"));
  CHECK(offers({"train", "--ver"}, "--version"));
  CHECK(completed({"train", "--optimizer", "adam"}) == std::vector<std::string>{"adam", "adamw"});
  CHECK(completed({"train", "--optimizer=adam"}) ==
        std::vector<std::string>{"--optimizer=adam", "--optimizer=adamw"});
  CHECK(completed({"train", "optimizer=rm"}) == std::vector<std::string>{"optimizer=rmsprop"});
  CHECK(offers({"train", "-m", "res"}, "resnet18"));
  CHECK(offers({"train", "--precision", ""}, "pure-fp16"));
  CHECK(offers({"train", "--schedule", "one"}, "one-cycle"));
  CHECK(offers({"train", "--device", ""}, "cuda"));
  CHECK(completed({"train", "--opt-level", "O"}).size() == 4);
  CHECK(offers({"train", "--monitor", "f"}, "f1"));
  CHECK(offers({"train", "--metrics", "f1,ka"}, "f1,kappa"));
  CHECK(completed({"train", "--epochs", ""}).empty());
  CHECK(offers({"eval", "last", "--data", "syn"}, "synthetic10"));
  CHECK(offers({"eval", "last", "--data", ""}, ":files"));
  CHECK(offers({"completion", ""}, "zsh"));
  CHECK(offers({"models", "dark"}, "darknet"));
  CHECK(offers({"help", "sched"}, "schedule"));
  CHECK(completed({"bogus", ""}).size() == commands().size());
  CHECK(completed({}).size() == commands().size());
  // Arguments by position; after -- nothing is an option.
  CHECK(offers({"eval", "la"}, "last"));
  CHECK(offers({"predict", "last", ""}, ":files"));
  CHECK(completed({"eval", "last", ""}).empty());
  CHECK(completed({"predict", "last", "--", "--to"}) == std::vector<std::string>{":files"});
}

TEST_CASE("options of what is chosen by name are completed") {
  CHECK(offers({"train", "--callbacks", "gradient_clip:li"}, "gradient_clip:limit="));
  CHECK(offers({"train", "--callbacks", "ema;gradient_clip:limit=1,by=v"},
               "ema;gradient_clip:limit=1,by=value"));
  CHECK(offers({"train", "--callbacks", "ema:decay=0.9;early"}, "ema:decay=0.9;early_stopping"));
  CHECK(offers({"train", "--optimizer", "sgd:nesterov=t"}, "sgd:nesterov=true"));
  CHECK(completed({"train", "--optimizer", "sgd:bogus=t"}).empty());
}

TEST_CASE("manual pages are whole, and take no text for a request") {
  const Command odd{.name = "odd",
                    .help = ".begins with a dot",
                    .arguments = {{.name = "A", .help = "'tis a back\\slash --option"}}};
  const std::string page = command_page(odd, "1.2");
  CHECK(holds(page, ".TH \"learn\\-odd\" 1 \"\" \"learn 1.2\""));
  CHECK(holds(page, "\n\\&'tis a back\\eslash \\-\\-option\n"));
  for (const Command& one : commands()) {
    CAPTURE(one.name);
    std::istringstream lines(command_page(one, "1"));
    const std::vector<std::string> requests{
        ".ad", ".nh", ".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi", ".RS", ".RE"};
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK_FALSE(line.empty());
      if (line[0] == '.') CHECK(std::ranges::count(requests, line.substr(0, 3)) == 1);
      CHECK(line[0] != '\'');
    }
  }
  const std::string train = command_page(command("train"), "1");
  for (const Option& option : command("train").options.all()) {
    std::string name;
    for (const char c : option_names(option))
      name += c == '-' ? std::string("\\-") : std::string(1, c);
    CAPTURE(name);
    CHECK(holds(train, ".TP\n\\fB" + name + "\\fR\n"));
  }
  const std::string program = program_page(commands(), "1");
  for (const char* const section :
       {"NAME", "SYNOPSIS", "COMMANDS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT"})
    CHECK(holds(program, std::string(".SH ") + section));
  CHECK(holds(program, "\\fBlearn\\-train\\fR(1)"));
}
