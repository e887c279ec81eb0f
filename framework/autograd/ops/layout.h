#pragma once
#include "framework/autograd/var.h"

#include <cstdint>
#include <vector>

/// Elements at other places. Memory is always contiguous, so all of these copy; `ops::reshape`
/// (ops/elementwise.h) does not.
namespace learn::ops {

/// Elements [begin, end) of dimension `axis`; negative numbers count from the end, in `begin` and
/// `end` too. Throws UsageError for an axis or a range that is not there.
[[nodiscard]] Var slice(const Var& x, int axis, std::int64_t begin, std::int64_t end);
/// Dimensions `a` and `b` in each other's place; negative ones count from the end. Throws
/// UsageError for one that is not there.
[[nodiscard]] Var transpose(const Var& x, int a, int b);
/// Dimension i of the result is x's dimension `order[i]`. Throws UsageError unless each is named
/// once.
[[nodiscard]] Var permute(const Var& x, std::vector<int> order);

}  // namespace learn::ops
