#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <cstdint>

LEARN_CPU_AND_CUDA(template <class T> void activation_forward(
                       Worker worker, const ActivationKind& kind, const T* x, T* y, std::int64_t n);
                   template <class T>
                   void activation_backward(Worker worker,
                                            const ActivationKind& kind,
                                            const T* x,
                                            const T* dy,
                                            T* dx,
                                            GradMode mode,
                                            std::int64_t n);)
