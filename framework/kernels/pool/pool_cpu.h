#pragma once
#include "framework/core/thread_pool.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/pool/pool_geometry_cpu.h"

#include <cstdint>

/// The fast CPU twins: f32, f16, bf16, vectorised over channels. The backward passes gather, so no
/// two threads write one element.
namespace learn::cpu {

template <class T, class Winner>
void max_pool2d_forward(
    ThreadPool& threads, const PoolGeometry& geometry, const T* x, T* y, Winner* winner);
template <class T, class Winner>
void max_pool2d_backward(ThreadPool& threads,
                         const PoolGeometry& geometry,
                         const Winner* winner,
                         const T* dy,
                         T* dx,
                         GradMode mode);
template <class T>
void avg_pool2d_forward(ThreadPool& threads, const PoolGeometry& geometry, const T* x, T* y);
template <class T>
void avg_pool2d_backward(
    ThreadPool& threads, const PoolGeometry& geometry, const T* dy, T* dx, GradMode mode);

}  // namespace learn::cpu
