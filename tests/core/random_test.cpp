#include "framework/core/random.h"

#include <doctest/doctest.h>

using namespace learn;

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST_CASE("philox4x32-10 gives the published answers") {
  const auto same =
      [](const Random4& a, std::uint32_t b0, std::uint32_t b1, std::uint32_t b2, std::uint32_t b3) {
        return a.v[0] == b0 && a.v[1] == b1 && a.v[2] == b2 && a.v[3] == b3;
      };
  CHECK(same(philox4x32({{0, 0, 0, 0}}, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  CHECK(same(philox4x32({{~0U, ~0U, ~0U, ~0U}}, ~0U, ~0U),
             0x408f276d,
             0x41c83b0e,
             0xa20bc7c6,
             0x6d5451fd));
  CHECK(same(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
             0xd16cfe09,
             0x94fdcceb,
             0x5001e420,
             0x24126ea1));
}

TEST_CASE("every bit of seed, purpose, batch and element is part of a random number's place") {
  const std::uint64_t seed = 0x0123456789ABCDEF;
  const std::uint64_t batch = 0x0000BEEF12345678;
  const std::uint64_t element = 0xFEDCBA9876543210;
  const Random4 drawn = random4(seed, RandomPurpose::shuffle, batch, element);
  const Random4 expected =
      philox4x32({{0x76543210, 0xFEDCBA98, 0x12345678, 0x0002BEEF}}, 0x89ABCDEF, 0x01234567);
  for (int i = 0; i < 4; ++i) CHECK(drawn.v[i] == expected.v[i]);
}

TEST_CASE("uniform01 stays below one and uniform_below in range") {
  CHECK(uniform01(0) == 0.0F);
  CHECK(uniform01(~0U) < 1.0F);
  CHECK(uniform_below(~0U, 7) == 6);
  CHECK(uniform_below(0, 7) == 0);
}
