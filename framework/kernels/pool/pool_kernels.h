#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/pool/pool_options.h"
#include "framework/runtime/exec.h"

#include <cstdint>

/// Pooling kernels. `Winner` is u8, or i32 for windows of more than 256 elements. The backward
/// passes of CPU and CUDA gather, so no two threads write the same element.
namespace learn::kernels {

/// x (n,h,w,c), y (n,p,q,c).
struct PoolSizes {
  std::int64_t n, h, w, c, p, q;
  Pool2dOptions options;
};

}  // namespace learn::kernels

LEARN_CPU_AND_CUDA(
    template <class T, class Winner> void max_pool2d_forward(
        const Exec& exec, const kernels::PoolSizes& sizes, const T* x, T* y, Winner* winner);
    template <class T, class Winner>
    void max_pool2d_backward(const Exec& exec,
                             const kernels::PoolSizes& sizes,
                             const Winner* winner,
                             const T* dy,
                             T* dx,
                             GradMode mode);
    template <class T>
    void avg_pool2d_forward(const Exec& exec, const kernels::PoolSizes& sizes, const T* x, T* y);
    template <class T>
    void avg_pool2d_backward(
        const Exec& exec, const kernels::PoolSizes& sizes, const T* dy, T* dx, GradMode mode);)
