#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/pool/pool_options.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// The CUDA twins: f32, f16, bf16. The backward passes gather, so no two threads write one element.
/// Device pointers; enqueue only.
namespace learn::cuda {

/// x (n,h,w,c), y (n,p,q,c).
struct PoolSizes {
  std::int64_t n, h, w, c, p, q;
  Pool2dOptions options;
};

/// `Winner` is u8, or i32 for windows of more than 256 elements.
template <class T, class Winner>
void max_pool2d_forward(Stream stream, const PoolSizes& sizes, const T* x, T* y, Winner* winner);
template <class T, class Winner>
void max_pool2d_backward(
    Stream stream, const PoolSizes& sizes, const Winner* winner, const T* dy, T* dx, GradMode mode);
template <class T>
void avg_pool2d_forward(Stream stream, const PoolSizes& sizes, const T* x, T* y);
template <class T>
void avg_pool2d_backward(Stream stream, const PoolSizes& sizes, const T* dy, T* dx, GradMode mode);

}  // namespace learn::cuda
