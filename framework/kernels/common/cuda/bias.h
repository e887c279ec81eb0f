#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <cstdint>

/// Biases of (rows, channels): f32, f16, bf16, arithmetic in f32. Device pointers; enqueue only.
namespace learn::cuda {

/// Computes y = x + bias.
template <class T>
void add_bias(
    Stream stream, const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t channels);
/// Computes db (channels) (+)= dy (rows, channels) summed over rows. The order of additions depends
/// only on the sizes.
template <class T>
void bias_backward(
    const Exec& exec, const T* dy, std::int64_t rows, std::int64_t channels, T* db, GradMode mode);

}  // namespace learn::cuda
