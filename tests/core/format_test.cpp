#include "framework/core/format.h"

#include <doctest/doctest.h>

#include <vector>

using namespace learn;

TEST_CASE("join puts the separator between, and nowhere else") {
  CHECK(join(std::vector<std::string>{}) == "");
  CHECK(join(std::vector<std::string>{"a"}) == "a");
  CHECK(join(std::vector<std::string>{"a", "", "c"}) == "a, , c");
  CHECK(join(std::vector<std::string>{"a", "b"}, "\n") == "a\nb");
  CHECK(join(std::vector<std::int64_t>{1, -2, 3}) == "1,-2,3");
}

TEST_CASE("shapes and devices as text") {
  CHECK(to_string(Shape{}) == "()");
  CHECK(to_string(Shape{64, 32, 3}) == "(64,32,3)");
  CHECK(to_string(Device::cpu()) == "cpu");
}
