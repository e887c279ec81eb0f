#include "apps/learn/runs/run_table.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace learn;
using cli::RunTable;

TEST_CASE("rows of runs are found by name, and differ only in known values") {
  RunTable table;
  const std::vector<int> runs{1, 2, 2};
  table.add("number", runs, [](int run) { return std::to_string(run); });
  table.add("known of twos", runs, [](int run) {
    return run == 2 ? RunTable::Cell("two") : std::nullopt;
  });
  table.add("number", runs, [](int) { return "a later one of the same name"; });
  CHECK(table.row("number").cells == std::vector<RunTable::Cell>{"1", "2", "2"});
  CHECK(table.row("number").differs());
  CHECK_FALSE(table.row("known of twos").differs());
  CHECK_THROWS_AS((void)table.row("numbers"), std::logic_error);
}

TEST_CASE("every key of a run is a row, empty if a run lacks it, unknown if the settings are") {
  using Texts = std::map<std::string, std::string>;
  const Texts one{{"a", "1"}, {"b", "2"}};
  const Texts other{{"b", "2"}, {"c", "3"}};
  RunTable table{.title = "keys"};
  table.add_keys(std::vector<const Texts*>{&one, &other, nullptr},
                 [](const Texts* texts) { return texts; });
  CHECK(table.row("a").cells == std::vector<RunTable::Cell>{"1", "", std::nullopt});
  CHECK(table.row("b").cells == std::vector<RunTable::Cell>{"2", "2", std::nullopt});
  CHECK(cli::to_text(std::vector{table}, {"one", "other", "damaged"}, 0) ==
        "     one  other  damaged\n"
        "\n"
        "keys\n"
        "  a  1    -      ?\n"
        "  b  2    2      ?\n"
        "  c  -    3      ?\n");
  CHECK(cli::to_text(std::vector{table}, {"one", "other", "damaged"}, 12) ==
        "     one\n\nkeys\n  a  1\n  b  2\n  c  -\n"
        "\n     other\n\nkeys\n  a  -\n  b  2\n  c  3\n"
        "\n     damaged\n\nkeys\n  a  ?\n  b  ?\n  c  ?\n");
}
