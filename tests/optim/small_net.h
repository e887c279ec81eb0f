#pragma once
#include "framework/nn/param_store.h"

#include <cstdint>

namespace learn::test {

/// Four modules with weights, biases, norms and running statistics, of odd sizes; `large` is big
/// enough for several chunks.
void declare_small_net(nn::ParamStore& store, bool large = false);

/// Writes a gradient to every parameter, times `scale`, where the model would write it.
void random_gradients(nn::ParamStore& store, std::int64_t step, double scale = 1);

/// A copy of the present values.
[[nodiscard]] Tensor snapshot(nn::ParamStore& store, const Tensor& flat);

}  // namespace learn::test
