#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>
#include <span>

/// The CUDA twin of the optimizers: one pass over a run of the flat buffers, arithmetic in f32.
/// Learning rates, the step's number and the decision to skip are read from device memory, so
/// nothing here varies from step to step. Device pointers; enqueues only.
namespace learn::cuda {

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

/// Null state pointers mean what undefined tensors mean in optim.h.
template <class T>
void sgd_step(Stream stream, const OptimArgs<T>& args, float* buffer, bool nesterov);
template <class T>
void adam_step(Stream stream, const OptimArgs<T>& args, float* mean, float* square);
template <class T>
void rmsprop_step(
    Stream stream, const OptimArgs<T>& args, float* square, float* mean, float* buffer);

/// blocks[i] = values[i], the values travelling with the launch: the host neither waits nor keeps
/// them.
void write_hypers(Stream stream, std::span<const GroupHypers> values, GroupHypers* blocks);

}  // namespace learn::cuda
