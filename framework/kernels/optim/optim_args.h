#pragma once
#include "framework/kernels/common/step_control.h"

#include <cstdint>

namespace learn::cpu {

/// What both CPU twins of an optimizer take: one run of the flat buffers. `T` is the type of the
/// half working copy; float means that there is none.
template <class T>
struct OptimArgs {
  float* weight;
  const float* grad;
  T* half;  ///< null if `T` is float
  std::int64_t n;
  GroupHypers hypers;
  StepControl control;  ///< with `found_inf` 0
  std::int64_t missed_steps;
  bool decoupled;
};

}  // namespace learn::cpu
