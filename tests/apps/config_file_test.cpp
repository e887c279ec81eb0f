#include "apps/experiment/config_file.h"

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

TEST_CASE("a configuration sets what it names and nothing else") {
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

TEST_CASE("what is wrong is shown with its place and a suggestion") {
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
  CHECK(f.error("lr = 1\n").find("stands outside of [train]") != std::string::npos);
  CHECK(f.error("[trian]\nlr = 1\n").find("'trian' stands outside") != std::string::npos);
  CHECK(f.error("[train]\ndry-run = true\n").find("belongs on the command line") !=
        std::string::npos);
  CHECK(f.error("[train]\nlr = nan\n").find("not a finite number") != std::string::npos);
  CHECK(f.error("[train]\nlr = -1\n").find("experiment.toml:2:6") != std::string::npos);
}

TEST_CASE("of a long line the part around the fault is shown") {
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

TEST_CASE("what is written is read back") {
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

TEST_CASE("what a file says is read whatever options there are, in its order") {
  const TemporaryFolder folder;
  const auto values_of = [&](const std::string& text) {
    write_file_atomically(folder / "c.toml", text);
    return read_config_values(folder / "c.toml", "train");
  };
  CHECK(values_of("[other]\na = 1\n[train]\nz = 1.5\nnew = \"x\"\na = [\"b\", 2, [true]]\n") ==
        OptionValues{{"z", "1.5"}, {"new", "x"}, {"a", "b,2,true"}});
  CHECK(values_of("train = 3\n").empty());
  CHECK_THROWS_AS((void)values_of("[train\n"), UsageError);
  CHECK_THROWS_AS((void)read_config_values(folder / "none", "train"), IoError);
}
