#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/common/step_control.h"
#include "framework/runtime/exec.h"

#include <cstdint>
#include <span>

namespace learn::kernels {

template <class T>
struct Range {
  const T* data;
  std::int64_t size;
};

}  // namespace learn::kernels

/// On the CPU, kernels are vectorized and threaded, with one partial result per chunk and 32 double
/// lanes for the norm.
LEARN_CPU_AND_CUDA(  /// Computes y (+)= x * control.inverse_scale; sets `found_inf` if a result
                     /// is not finite.
    template <class From> void unscale(const Exec& exec,
                                       const From* x,
                                       float* y,
                                       StepControl* control,
                                       GradMode mode,
                                       std::int64_t n);
    /// Computes x *= control.inverse_scale and sets `found_inf` in the same way.
    void unscale_in_place(const Exec& exec, float* x, StepControl* control, std::int64_t n);
    template <class T>
    void find_non_finite(const Exec& exec, const T* x, StepControl* control, std::int64_t n);
    /// Computes *norm = the L2 norm of all ranges. Unless `control` is null, lowers its gradient
    /// multiplier so that the norm of the gradients is at most `max_norm`.
    template <class T>
    void clip_by_norm(const Exec& exec,
                      std::span<const kernels::Range<T>> ranges,
                      float* norm,
                      float max_norm,
                      StepControl* control);
    /// Clamps the values that the optimizer applies, x * control.grad_multiplier, to [-limit,
    /// limit]; NaN stays NaN.
    template <class T>
    void clip_by_value(
        const Exec& exec, T* x, float limit, const StepControl* control, std::int64_t n);)
