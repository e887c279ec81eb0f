#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/step/loss_scale_options.h"
#include "framework/kernels/step/step_rules.h"
#include "framework/runtime/exec.h"

#include <algorithm>
#include <cstdint>

/// Kernels on the control block. `change` applies a rule of step_rules.h. In `end_step`, `live` and
/// `committed` have n elements. If `found_inf` is set, committed is copied to live; otherwise live
/// is copied to committed.
namespace learn {
namespace reference {

template <class Rule>
void change(Exec, const Rule& rule, StepControl* control) {
  rule(*control);
}

inline void end_step(Exec,
                     float* live,
                     float* committed,
                     std::int64_t n,
                     const LossScaleOptions& scaling,
                     StepControl* control) {
  if (control->found_inf != 0)
    std::copy_n(committed, n, live);
  else
    std::copy_n(live, n, committed);
  step_rules::end(*control, scaling);
}

}  // namespace reference

namespace cpu {

template <class Rule>
void change(const Exec&, const Rule& rule, StepControl* control) {
  rule(*control);
}

inline void end_step(const Exec&,
                     float* live,
                     float* committed,
                     std::int64_t n,
                     const LossScaleOptions& scaling,
                     StepControl* control) {
  reference::end_step({}, live, committed, n, scaling, control);
}

}  // namespace cpu

namespace cuda {

template <class Rule>
void change(Stream stream, const Rule& rule, StepControl* control);

void end_step(Stream stream,
              float* live,
              float* committed,
              std::int64_t n,
              const LossScaleOptions& scaling,
              StepControl* control);

}  // namespace cuda
}  // namespace learn
