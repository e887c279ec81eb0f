#pragma once
#include "tests/lab/cuda/fake/decode.h"

namespace fakecuda {

/// Instruction::mode of ld.nc.
inline constexpr int kReadOnlyCache = 1;

/// Takes the state space off an opcode; none means generic.
void take_space(Decoding& d);

}  // namespace fakecuda
