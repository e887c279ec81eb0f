#include "framework/core/environment.h"

#include "framework/core/log.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace learn;

TEST_CASE("a variable that is unset or empty has no value") {
  constexpr const char* kName = "LEARN_TEST_VARIABLE";
  CHECK(environment(kName) == nullptr);
  (void)setenv(kName, "", 1);
  CHECK(environment(kName) == nullptr);
  (void)setenv(kName, "a b", 1);
  CHECK(std::string(environment(kName)) == "a b");
  (void)unsetenv(kName);
}

TEST_CASE("each text is reported as new once in a process") {
  CHECK(first_time("one of this test"));
  CHECK(first_time("another of this test"));
  for (int i = 0; i < 3; ++i) CHECK_FALSE(first_time("one of this test"));
}
