#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace fakecuda::selftest {

/// Runs a few PTX statements and returns, for each thread of one block, what they left in register
/// 8 of the kind they wrote: %r8 (32 bits), %h8 (16), %d8 (64), or %p0 (0 or 1). Before them,
/// register i of each of these three kinds holds input i (at most 6), and %r7 the thread's number.
/// %d14 points to the inputs.
[[nodiscard]] std::vector<std::uint64_t> run_ptx(const std::string& statements,
                                                 const std::vector<std::uint64_t>& inputs,
                                                 int threads = 1,
                                                 const std::string& declarations = "");

}  // namespace fakecuda::selftest
