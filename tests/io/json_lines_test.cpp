#include "framework/io/json_lines.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <limits>

using namespace learn;

TEST_CASE("an object is a line of JSON with the shortest digits") {
  CHECK(json_line({{"a", std::int64_t{3}},
                   {"b\"", 0.1F},
                   {"c", 0.1},
                   {"d", std::numeric_limits<double>::quiet_NaN()},
                   {"e", -std::numeric_limits<float>::infinity()},
                   {"f", std::string("x\n\xff")}}) ==
        "{\"a\": 3, \"b\\\"\": 0.1, \"c\": 0.1, \"d\": null, \"e\": null, \"f\": "
        "\"x\\n\\\\xff\"}\n");
  CHECK(json_line({}) == "{}\n");
}

TEST_CASE("lines are appended and read, except those without an object") {
  const TemporaryFolder folder;
  const auto path = folder / "m.jsonl";
  { JsonLinesWriter(path).lines({{{"a", 1e-7}}, {{"b", std::string("t")}}}); }
  { JsonLinesWriter(path).lines({{{"a", 2.0}}}); }
  write_file_atomically(path, read_text_file(path) + "[1]\n\n{\"a\": ");
  const std::vector<JsonLine> lines = read_json_lines(path);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].numbers.at("a") == 1e-7);
  CHECK(lines[1].texts.at("b") == "t");
  CHECK(lines[2].text == "{\"a\": 2}");
  CHECK_THROWS_AS((void)read_json_lines(folder / "none"), IoError);
  CHECK_THROWS_AS(JsonLinesWriter(folder / "no/such/file"), IoError);
}
