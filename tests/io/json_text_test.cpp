#include "framework/io/json_text.h"

#include "framework/core/printable.h"
#include "framework/io/json_lines.h"
#include "framework/runs/run_record.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace learn;
using Json = nlohmann::ordered_json;

TEST_CASE("names that are not UTF-8 stay distinct in JSON, as values, names and in lists") {
  const Json value{{"file", "cat\xff.jpg"}, {"\xfe", Json::array({"a\xe9", 1, nullptr})}};
  const std::string text = json_text(value);
  CHECK(text == R"({"file":"cat\\xff.jpg","\\xfe":["a\\xe9",1,null]})");
  CHECK(Json::parse(text).at("file") == "cat\\xff.jpg");
  CHECK(json_text(Json{{"a", 1}}, 2) == "{\n  \"a\": 1\n}");
}

TEST_CASE("UTF-8 is unchanged in JSON") {
  const std::string text = "\xe7\x8c\xab \"quoted\" \\ \n";
  CHECK(Json::parse(json_text(Json(text))) == text);
}

TEST_CASE("JSON for a terminal is JSON still, whatever a name holds") {
  const std::string name =
      "a\xe2\x80\xae"
      "b\x7f\xc2\x9b\x1b";
  const std::string text = json_text(Json(name));
  CHECK(text == R"("a\u202eb\u007f\u009b\u001b")");
  CHECK(printable(text) == text);
  CHECK(Json::parse(text) == name);
}

TEST_CASE("all writers of JSON write names in the same way") {
  CHECK(json_line({{"\xff", std::string("\xfe")}}) == "{\"\\\\xff\": \"\\\\xfe\"}\n");
  RunRecord record;
  record.argv = {"learn", "a\xff"};
  CHECK(run_record_text(record).find("\"a\\\\xff\"") != std::string::npos);
}
