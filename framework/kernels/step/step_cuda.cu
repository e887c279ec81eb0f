// The control block of a step: rules that one thread applies, and the end of a step in one launch.
// That launch commits or restores the running statistics according to the flag, which all threads
// read and none changes.
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/launch.cuh"
#include "framework/kernels/step/step_kernels.h"

#include <algorithm>

namespace learn::cuda {
namespace {

/// Applies `rule` to the control block in one thread.
template <class Rule>
__global__ void change_kernel(Rule rule, StepControl* control) {
  rule(*control);
}

/// Ends a step. All threads read `found_inf`, which no thread writes here; the first thread changes
/// the other fields.
__global__ void end_step_kernel(
    float* live, float* committed, std::int64_t n, LossScaleOptions scaling, StepControl* control) {
  const std::int64_t i = device::thread_index();
  if (i < n) {
    if (control->found_inf != 0)
      live[i] = committed[i];
    else
      committed[i] = live[i];
  }
  if (i == 0) step_rules::end(*control, scaling);
}

}  // namespace

template <class Rule>
void change(Stream stream, const Rule& rule, StepControl* control) {
  launch(Rule::kName, change_kernel<Rule>, single_block(1), stream, rule, control);
}

template void change(Stream, const step_rules::Write&, StepControl*);
template void change(Stream, const step_rules::SetScale&, StepControl*);
template void change(Stream, const step_rules::ShareScale&, StepControl*);
template void change(Stream, const step_rules::CollectFoundInf&, StepControl*);
template void change(Stream, const step_rules::Begin&, StepControl*);

void end_step(Stream stream,
              float* live,
              float* committed,
              std::int64_t n,
              const LossScaleOptions& scaling,
              StepControl* control) {
  const Grid grid = thread_each(std::max<std::int64_t>(n, 1), device::kElementwiseThreads);
  launch("end_step", end_step_kernel, grid, stream, live, committed, n, scaling, control);
}

}  // namespace learn::cuda
