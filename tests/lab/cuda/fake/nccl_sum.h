#pragma once
#include "tests/lab/cuda/fake/nccl_types.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace fakecuda {

/// Stops for types that are not modelled.
[[nodiscard]] std::size_t bytes_of(NcclType type);
/// "f32".
[[nodiscard]] std::string_view name_of(NcclType type);

/// Writes the sums of `count` elements of each operand: in the order of the ranks, so that all have
/// equal bits; f16 and bf16 in f32 and rounded once. The real library adds in another order, and
/// may round halves after each addition.
void sum(std::byte* result,
         const std::vector<const std::byte*>& operands,
         std::size_t count,
         NcclType type);

}  // namespace fakecuda
