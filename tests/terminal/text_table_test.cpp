#include "framework/terminal/text_table.h"

#include "framework/core/error.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("columns are as wide as their widest cell, UTF-8 counted as characters") {
  TextTable table({{"name"}, {"params", TextTable::Align::right}, {"help"}});
  table.row({"r\xC3\xA9snet", "12", "x"});
  table.row({"a", "1 234"});
  CHECK(table.to_string() ==
        "name    params  help\n"
        "r\xC3\xA9snet      12  x\n"
        "a        1 234\n");
  CHECK_THROWS_AS(table.row({"1", "2", "3", "4"}), UsageError);
}

TEST_CASE("no cell breaks its row") {
  TextTable table({{"name"}, {"class"}});
  table.row({"a\nb\t", "c"});
  table.row({"\x1b[2J\r", "d"});
  CHECK(table.to_string() == "name         class\na\\x0ab\\x09   c\n\\x1b[2J\\x0d  d\n");
}

TEST_CASE("numbers and times are readable") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1 000");
  CHECK(grouped(-1234567) == "-1 234 567");
  CHECK(clock_text(7.4) == "0:07");
  CHECK(clock_text(754) == "12:34");
  CHECK(clock_text(3723) == "1:02:03");
  CHECK(clock_text(-1) == "0:00");
}
