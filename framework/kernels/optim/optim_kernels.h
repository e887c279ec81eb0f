#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/runtime/exec.h"

#include <algorithm>
#include <cstdint>
#include <span>

/// One pass over a segment of the flat buffers, arithmetic in f32. Learning rates, the step's
/// number and the decision to skip are read where the executor's memory is, so nothing here varies
/// from step to step. Null state pointers mean what undefined tensors mean in optim.h.
namespace learn {
namespace kernels {

/// `T` is the type of the half working copy; float means that there is none.
template <class T>
struct OptimArgs {
  float* weight;
  const float* grad;
  T* half;  ///< null if `T` is float
  std::int64_t n;
  const GroupHypers* hypers;
  const StepControl* control;
  std::int64_t missed_steps;
  bool decoupled;
};

}  // namespace kernels

namespace cpu {

template <class T>
void sgd_step(ThreadPool& threads, const kernels::OptimArgs<T>& args, float* buffer, bool nesterov);
template <class T>
void adam_step(ThreadPool& threads, const kernels::OptimArgs<T>& args, float* mean, float* square);
template <class T>
void rmsprop_step(ThreadPool& threads,
                  const kernels::OptimArgs<T>& args,
                  float* square,
                  float* mean,
                  float* buffer);

inline void write_hypers(const Exec&, std::span<const GroupHypers> values, GroupHypers* blocks) {
  std::copy(values.begin(), values.end(), blocks);
}

}  // namespace cpu

namespace cuda {

template <class T>
void sgd_step(Stream stream, const kernels::OptimArgs<T>& args, float* buffer, bool nesterov);
template <class T>
void adam_step(Stream stream, const kernels::OptimArgs<T>& args, float* mean, float* square);
template <class T>
void rmsprop_step(
    Stream stream, const kernels::OptimArgs<T>& args, float* square, float* mean, float* buffer);

/// blocks[i] = values[i], the values travelling with the launch: the host neither waits nor keeps
/// them.
void write_hypers(Stream stream, std::span<const GroupHypers> values, GroupHypers* blocks);

}  // namespace cuda
}  // namespace learn
