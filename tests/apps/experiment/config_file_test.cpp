#include "apps/experiment/config_file.h"

#include "apps/experiment/options.h"
#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace learn;

namespace {

struct Fields {
  std::int64_t batch_size = 128;
  double lr = 0.1;
  bool plots = true;
  std::string name = "train";
  std::vector<std::string> classes;
  bool dry_run = false;
  OptionTable table;
  Fields() {
    table.group("Schedule");
    table.number("batch-size", batch_size, kPositive, "N", "");
    table.number("lr", lr, kPositive, "X", "");
    table.group("Run");
    table.flag("plots", plots, "");
    table.text("name", name, "NAME", "");
    table.list("classes", classes, ',', "A,B", "");
    table.flag("dry-run", dry_run, "");
    table.keep_out_of_config("dry-run");
  }
  void read(const std::string& source) {
    set_options(table, parse_config(source, "experiment.toml", "train", table));
  }
  [[nodiscard]] std::string error(const std::string& source) {
    try {
      read(source);
      return "accepted";
    } catch (const UsageError& e) {
      return e.what();
    }
  }
};

}  // namespace

TEST_CASE("a configuration sets only the options it names") {
  Fields f;
  f.read("[train]\nbatch-size = 32\nplots = false\nclasses = [\"cat\", \"dog\"]\n");
  CHECK(f.batch_size == 32);
  CHECK_FALSE(f.plots);
  CHECK(f.classes == std::vector<std::string>{"cat", "dog"});
  CHECK(f.lr == 0.1);
  f.read("[train]\nlr = 1\nclasses = \"a,b\"\n");  // a whole number is a number
  CHECK(f.lr == 1);
  f.read("");
  CHECK(f.batch_size == 32);
}

TEST_CASE("a fault is shown with its position and a suggestion") {
  Fields f;
  const std::string typo = f.error("# mine\n[train]\nlr = 0.1\nbacth-size = 128\n");
  CHECK(typo ==
        "unknown key 'bacth-size' in [train]\n"
        "  --> experiment.toml:4:1\n"
        "   |\n"
        " 4 | bacth-size = 128\n"
        "   | ^^^^^^^^^^ did you mean 'batch-size'?");
  CHECK(f.error("[train]\nlr = \"x\"\n").find("'lr' must be a number") == 0);
  CHECK(f.error("[train]\nbatch-size = 1.5\n").find("must be a whole number") != std::string::npos);
  CHECK(f.error("[train]\nplots = 1\n").find("must be true or false") != std::string::npos);
  CHECK(f.error("[train]\nclasses = [[1]]\n").find("must be a list") != std::string::npos);
  CHECK(f.error("[train]\nlr = \n").find("not TOML") != std::string::npos);
  CHECK(f.error("[train]\nlr = 1\nlr = 2\n").find("experiment.toml:3") != std::string::npos);
  CHECK(f.error("lr = 1\n").find("is outside of [train]") != std::string::npos);
  CHECK(f.error("[trian]\nlr = 1\n").find("'trian' is outside") != std::string::npos);
  CHECK(f.error("[train]\ndry-run = true\n").find("belongs on the command line") !=
        std::string::npos);
  CHECK(f.error("[train]\nlr = nan\n").find("not a finite number") != std::string::npos);
  CHECK(f.error("[train]\nlr = -1\n").find("experiment.toml:2:6") != std::string::npos);
}

TEST_CASE("a long line is shown around the fault only") {
  Fields f;
  const std::string error =
      f.error("[train]\nclasses = [" + std::string(50'000, ' ') + "'a'], oops = 1\n");
  CHECK(
      error ==
      "this is not TOML: Error while parsing key-value pair: expected a comment or whitespace, saw "
      "','\n"
      "  --> experiment.toml:2:50016\n"
      "   |\n"
      " 2 | " +
          std::string(56, ' ') +
          "'a'], oops = 1\n"
          "   | " +
          std::string(60, ' ') + "^ ");
}

TEST_CASE("an item of a list may hold its separator") {
  Fields f;
  set_options(
      f.table,
      parse_config("[train]\nclasses = ['New York, NY', '\"x\"']\n", "e", "train", f.table));
  CHECK(f.classes == std::vector<std::string>{"New York, NY", "\"x\""});
}

TEST_CASE("a written configuration is read back") {
  Fields f;
  f.read("[train]\nlr = 0.1234567890123\nname = \"a \\\"b\\\" \\\\\"\nclasses = [\"x\"]\n");
  const std::string written = write_config(f.table, "train");
  CHECK(written.find("dry-run") == std::string::npos);
  Fields again;
  again.read(written);
  CHECK(again.lr == f.lr);
  CHECK(again.name == f.name);
  CHECK(again.classes == f.classes);
  CHECK(write_config(again.table, "train") == written);
}

TEST_CASE("keys of very many parts are refused before they can overflow the stack") {
  Fields f;
  const auto repeated = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  constexpr int kMany = 100'000;
  for (const std::string& deep :
       {"[train]\n" + repeated("a.", kMany) + "a = 1\n",
        "[train" + repeated(".train", kMany) + "]\n",
        "[[train" + repeated(" . train", kMany) + "]]\n",
        "[train]\n" + repeated("\"a\".", kMany) + "a = 1\n",
        "[train]\n" + repeated("'a\"'.", kMany) + "a = 1\n",
        "[train]\nx = {a = \"\"\"\"\"\", " + repeated("a.", kMany) + "a = 1}\n",
        "[train]\nx = {a = \"\"\"\\\"\"\"\"\", " + repeated("a.", kMany) + "a = 1}\n",
        "[train]\nx = {a = '''\n''''', " + repeated("a.", kMany) + "a = 1}\n",
        "[train]\nx = {a = 'it\\', " + repeated("a.", kMany) + "a = 1}\n",
        "# it's\n[train]\n" + repeated("a.", kMany) + "a = 1\n"}) {
    CAPTURE(deep.substr(0, 40));
    CHECK(f.error(deep).find("a key of more than 9 parts") == 0);
  }
  // toml++ looks after values itself.
  CHECK(f.error("[train]\nlr = " + repeated("[", kMany)).find("this is not TOML") == 0);
  CHECK(f.error("[train]\nlr = " + repeated("{a = ", kMany)).find("this is not TOML") == 0);
  CHECK(f.error("[train]\nlr = " + repeated("{a.a.a.a.a.a.a.a.a = ", 255) + "1" +
                repeated("}", 255)) != "accepted");
  CHECK(f.error(std::string((1U << 20U) + 1, '#')).find("1048577 bytes, more than") !=
        std::string::npos);
}

TEST_CASE("dots in texts, numbers and comments are not counted as parts of a key") {
  Fields f;
  f.read(
      "# a.b.c.d.e.f.g.h.i.j.k \"\n[train]\nname = \"../../../../../a.b.c.d\" # ' "
      "a.b.c.d.e.f.g.h.i.j\n"
      "classes = ['a.b.c.d.e', \"f.g.\\\"h.i\", \"\"\"j.k.l\n.m.n\"\"\"]\nlr = 0.5\n");
  CHECK(f.name == "../../../../../a.b.c.d");
  CHECK(f.classes == std::vector<std::string>{"a.b.c.d.e", "f.g.\"h.i", "j.k.l\n.m.n"});
}

TEST_CASE("a file is read in its order, whatever options exist") {
  const TemporaryFolder folder;
  const auto values_of = [&](const std::string& text) {
    write_file_atomically(folder / "c.toml", text);
    OptionValues values;
    for (const ConfigEntry& entry : read_config_values(folder / "c.toml", "train"))
      values.emplace_back(entry.name, entry.text);
    return values;
  };
  CHECK(values_of("[other]\na = 1\n[train]\nz = 1.5\nnew = \"x\"\na = [\"b\", 2, [true]]\n") ==
        OptionValues{{"z", "1.5"}, {"new", "x"}, {"a", "b,2,true"}});
  CHECK(values_of("train = 3\n").empty());
  CHECK_THROWS_AS((void)values_of("[train\n"), UsageError);
  CHECK_THROWS_AS((void)read_config_values(folder / "none", "train"), IoError);
}

TEST_CASE("a text may be written as a number, and nothing else") {
  Fields f;
  f.read("[train]\nname = 1500\n");
  CHECK(f.name == "1500");
  f.read("[train]\nname = 0.5\n");
  CHECK(f.name == "0.5");
  CHECK(f.error("[train]\nname = true\n").find("'name' must be a text in quotes, or a number") ==
        0);
  CHECK(f.error("[train]\nname = [\"a\"]\n").find("'name' must be a text in quotes") == 0);
  ExperimentOptions options;
  const OptionTable table = options.table();
  set_options(table, parse_config("[train]\ntrain-limit = 1500\n", "c.toml", "train", table));
  CHECK(options.data.train_limit.text() == "1500");
  set_options(table, parse_config("[train]\ntrain-limit = 0.25\n", "c.toml", "train", table));
  CHECK(options.data.train_limit.text() == "0.25");
  set_options(table,
              parse_config("[train]\nfreeze = 2\nloss-scale = 512\nprecision = \"fp16\"\n",
                           "c.toml",
                           "train",
                           table));
  CHECK(options.model.freeze == "2");
  CHECK(options.precision.loss_scale == "512");
}

TEST_CASE("values that are defaults are written with a mark, which is read") {
  Fields f;
  f.lr = 0.5;
  const std::string written = write_config(f.table, "train");
  CHECK(written.find("\nlr = 0.5\n") != std::string::npos);
  CHECK(written.find("\nbatch-size = 128  # default\n") != std::string::npos);
  CHECK(written.find("\nname = \"train\"  # default\n") != std::string::npos);
  const auto entries = config_values(written + "classes = [\"# default\"]\n", "c", "train");
  std::string marked;
  for (const ConfigEntry& entry : entries) marked += entry.by_default ? entry.name + " " : "";
  CHECK(marked == "batch-size plots name ");
  CHECK(entries.back().text == "# default");
}

TEST_CASE("every setting that a default decides is in the configuration, and reproduces it") {
  const auto lines = [](const OptionValues& values, bool with_data) {
    ExperimentOptions options;
    const OptionTable table = options.table();
    set_options(table, values);
    if (with_data) {
      data::Dataset train;
      train.classes = {"a", "b"};
      options.know(train);
    }
    return write_config(table, "train");
  };
  const auto holds = [](const std::string& text, const std::string& line) {
    CAPTURE(text);
    CAPTURE(line);
    CHECK(("\n" + text).find("\n" + line + "\n") != std::string::npos);
  };
  const std::string usual = lines({}, true);
  for (const char* const line : {"lr = [0.01]  # default",
                                 "warmup = 0.25  # default",
                                 "momentum = \"schedule\"  # default",
                                 "weight-decay = 0.01  # default",
                                 "loss = \"cross_entropy\"  # default",
                                 "metrics = [\"accuracy\"]  # default",
                                 "monitor = \"accuracy\"  # default"})
    holds(usual, line);
  const std::string sgd =
      lines({{"optimizer", "sgd"}, {"schedule", "cosine"}, {"lr", "0.3"}}, true);
  for (const char* const line :
       {"lr = [0.3]", "momentum = 0.9  # default", "warmup = 0  # default"})
    holds(sgd, line);
  // Values in a spec are not repeated, and values that depend on the data are comments.
  const std::string own = lines(
      {{"optimizer", "sgd:momentum=0.5,weight_decay=0.2"}, {"schedule", "step:warmup=0.1"}}, false);
  for (const char* const key : {"\nmomentum =", "\nweight-decay =", "\nwarmup =", "\nloss ="}) {
    CAPTURE(key);
    CHECK(own.find(key) == std::string::npos);
  }
  holds(own, "# monitor: accuracy of classes, valid_loss of several labels and of real numbers");
  CHECK(lines({{"schedule", "const"}}, false).find("warmup") == std::string::npos);
  // Read back, it is the same, and its defaults are unset again.
  for (const std::string& text : {usual, sgd, own}) {
    ExperimentOptions options;
    const OptionTable table = options.table();
    set_options(table, parse_config(text, "c.toml", "train", table));
    CHECK_FALSE(options.training.weight_decay.has_value());
    CHECK_FALSE(options.training.warmup.has_value());
    CHECK_FALSE(options.training.momentum.has_value());
    CHECK(options.training.metrics.empty());
    CHECK(options.training.lr.empty() == (text != sgd));
    CHECK_NOTHROW(options.check());
    data::Dataset train;
    train.classes = {"a", "b"};
    if (text != own) options.know(train);
    CHECK(write_config(table, "train") == text);
  }
}

TEST_CASE("a default of another version stays the value it was") {
  ExperimentOptions options;
  const OptionTable table = options.table();
  const std::string old =
      "[train]\nlr = [0.02]  # default\nweight-decay = 0.5  # default\nwarmup = 0.125  # default\n"
      "momentum = 0.875  # default\nmetrics = [\"f1\"]  # default\n";
  set_options(table, parse_config(old, "c.toml", "train", table));
  CHECK(options.training.lr == std::vector<double>{0.02});
  CHECK(options.training.weight_decay == 0.5);
  CHECK(options.training.warmup == 0.125);
  CHECK(options.training.momentum == 0.875);
  CHECK(options.training.metrics == std::vector<std::string>{"f1"});
  // A marked default takes the place of what was set before, and may be said by its word.
  set_options(table, parse_config("[train]\nlr = [0.01]  # default\n", "c.toml", "train", table));
  CHECK(options.training.lr.empty());
  set_options(table, parse_config("[train]\nmomentum = \"schedule\"\n", "c.toml", "train", table));
  CHECK_FALSE(options.training.momentum.has_value());
  CHECK_THROWS_AS(set_options(table, OptionValues{{"momentum", "cycled"}}), UsageError);
}
