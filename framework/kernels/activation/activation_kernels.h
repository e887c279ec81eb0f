#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn::cpu {

template <class T>
void activation_forward(
    ThreadPool& threads, const ActivationKind& kind, const T* x, T* y, std::int64_t n);
template <class T>
void activation_backward(ThreadPool& threads,
                         const ActivationKind& kind,
                         const T* x,
                         const T* dy,
                         T* dx,
                         GradMode mode,
                         std::int64_t n);

}  // namespace learn::cpu

namespace learn::cuda {

template <class T>
void activation_forward(
    Stream stream, const ActivationKind& kind, const T* x, T* y, std::int64_t n);
template <class T>
void activation_backward(Stream stream,
                         const ActivationKind& kind,
                         const T* x,
                         const T* dy,
                         T* dx,
                         GradMode mode,
                         std::int64_t n);

}  // namespace learn::cuda
