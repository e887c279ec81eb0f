#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/runtime/exec.h"

#include <algorithm>
#include <cstdint>
#include <span>

/// One pass over a segment of the flat buffers, with arithmetic in f32. Learning rates, the step
/// number and the decision to skip are read from the executor's memory, so no argument varies from
/// step to step. Null pointers to state mean the same as undefined tensors in optim.h.
namespace learn::kernels {

/// Arguments of an update. `Stored` is the type of weights, gradients and state: float, or a half
/// without f32 masters. `Copy` is the type of the half working copy, or `Stored` without one.
template <class Stored, class Copy>
struct OptimArgs {
  Stored* weight;
  const Stored* grad;
  Copy* half;  ///< null if `Copy` is `Stored`
  std::int64_t n;
  const GroupHypers* hypers;
  const StepControl* control;
  std::int64_t missed_steps;
  bool decoupled;
};

}  // namespace learn::kernels

LEARN_CPU_AND_CUDA(
    template <class S, class T>
    void sgd_step(Worker worker, const kernels::OptimArgs<S, T>& args, S* buffer, bool nesterov);
    template <class S, class T>
    void adam_step(Worker worker, const kernels::OptimArgs<S, T>& args, S* mean, S* square);
    template <class S, class T>
    void rmsprop_step(
        Worker worker, const kernels::OptimArgs<S, T>& args, S* square, S* mean, S* buffer);)

namespace learn::cpu {

inline void write_hypers(const Exec&, std::span<const GroupHypers> values, GroupHypers* blocks) {
  std::copy(values.begin(), values.end(), blocks);
}

}  // namespace learn::cpu

namespace learn::cuda {

/// Sets blocks[i] = values[i]. The values are passed with the launch, so the host neither waits nor
/// keeps them.
void write_hypers(Stream stream, std::span<const GroupHypers> values, GroupHypers* blocks);

}  // namespace learn::cuda
