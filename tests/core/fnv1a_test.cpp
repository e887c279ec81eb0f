#include "framework/core/fnv1a.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string_view>

using namespace learn;

TEST_CASE("fnv1a has the values of its authors' test vectors") {
  // test_fnv.c of http://www.isthe.com/chongo/tech/comp/fnv/
  CHECK(fnv1a("") == 0xCBF29CE484222325U);
  CHECK(fnv1a("a") == 0xAF63DC4C8601EC8CU);
  CHECK(fnv1a("foo") == 0xDCB27518FED9D577U);
  CHECK(fnv1a("foobar") == 0x85944171F73967E8U);
  CHECK(fnv1a("chongo was here!\n") == 0x46810940EFF5F915U);
}

TEST_CASE("fnv1a takes bytes as unsigned and does not stop at a zero") {
  using namespace std::string_view_literals;
  CHECK(fnv1a("\xFF\0\0\x01"sv) == 0x6961196491CC682DU);
}

TEST_CASE("fnv1a_48 folds the upper bits onto the lower") {
  CHECK(fnv1a_48("a") == (0xDC4C8601EC8CU ^ 0xAF63U));
}

TEST_CASE("fnv1a_words takes an integer in one step, negative ones as 64 bits") {
  CHECK(fnv1a_words(std::array<std::int64_t, 0>{}) == kFnv1aBasis);
  CHECK(fnv1a_words(std::array<std::int64_t, 3>{'f', 'o', 'o'}) == fnv1a("foo"));
  CHECK(fnv1a_words(std::array<std::int64_t, 1>{-1}) == ~kFnv1aBasis * kFnv1aPrime);
}
