#pragma once
#include "tests/lab/cuda/fake/selftest/ptx_program.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace fakecuda::selftest {

/// Statements, their inputs, and what must be in register 8 afterwards.
struct OpcodeCase {
  std::string statements;
  std::vector<std::uint64_t> inputs;
  std::uint64_t expected;
};

inline constexpr std::uint64_t kMinus = ~std::uint64_t{0};
inline constexpr std::uint64_t kNan = 0x7FFFFFFF;
inline constexpr std::uint64_t kInfinity = 0x7F800000;

[[nodiscard]] inline std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

inline void check_all(const std::vector<OpcodeCase>& cases) {
  for (const OpcodeCase& one : cases) {
    const std::uint64_t result = run_ptx(one.statements, one.inputs)[0];
    INFO(one.statements);
    CHECK(result == one.expected);
  }
}

}  // namespace fakecuda::selftest
