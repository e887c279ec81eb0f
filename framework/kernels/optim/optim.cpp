#include "framework/kernels/optim/optim.h"

#include "framework/kernels/optim/optim_kernels.h"
#include "framework/kernels/optim/optim_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

void check_tensors(Context& ctx, const char* op, const OptimTensors& tensors) {
  for (const Tensor* t : {&tensors.weight, &tensors.grad}) {
    check<DTypeError>(
        t->dtype() == DType::f32, "{}: masters and gradients are f32, got {}", op, t->dtype());
    check(t->shape() == tensors.weight.shape(),
          "{}: shapes differ: weights {}, gradients {}",
          op,
          tensors.weight.shape(),
          t->shape());
    check_device(ctx, op, *t);
  }
  if (!tensors.half.defined()) return;
  check<DTypeError>(is_half(tensors.half.dtype()),
                    "{}: working copies are f16 or bf16, got {}",
                    op,
                    tensors.half.dtype());
  check(tensors.half.shape() == tensors.weight.shape(),
        "{}: shapes differ: weights {}, working copy {}",
        op,
        tensors.weight.shape(),
        tensors.half.shape());
  check_device(ctx, op, tensors.half);
}

/// Null for an undefined tensor.
float* state_data(const char* op, const OptimTensors& tensors, Tensor& state) {
  if (!state.defined()) return nullptr;
  check(state.shape() == tensors.weight.shape(),
        "{}: shapes differ: weights {}, state {}",
        op,
        tensors.weight.shape(),
        state.shape());
  return state.data<float>();
}

/// Calls `f(half)` with the working copy's elements, or a null float pointer if there is none.
template <class F>
void with_half(Tensor half, F&& f) {
  if (!half.defined())
    f(static_cast<float*>(nullptr));
  else if (half.dtype() == DType::f16)
    f(half.data<Half>());
  else
    f(half.data<BFloat16>());
}

/// Calls `f(executor, args)`.
template <class F>
void update(Context& ctx, const char* op, const OptimTensors& tensors, F&& f) {
  check_tensors(ctx, op, tensors);
  check_device(ctx, op, tensors.hypers);
  check_device(ctx, op, tensors.control);
  Tensor weight = tensors.weight;
  with_half(tensors.half, [&]<class T>(T* half) {
    const OptimArgs<T> args{.weight = weight.data<float>(),
                            .grad = tensors.grad.data<float>(),
                            .half = half,
                            .n = weight.elements(),
                            .hypers = tensors.hypers.data(),
                            .control = tensors.control.data(),
                            .missed_steps = tensors.missed_steps,
                            .decoupled = tensors.decoupled_decay};
    with_executor(ctx, [&](const auto& exec) { f(exec, args); });
  });
}

}  // namespace

void write_hypers(Context& ctx,
                  std::span<const GroupHypers> hypers,
                  DeviceArray<GroupHypers>& blocks) {
  constexpr const char* kOp = "write_hypers";
  check(blocks.count() == static_cast<std::int64_t>(hypers.size()),
        "{}: {} groups, but memory for {}",
        kOp,
        hypers.size(),
        blocks.count());
  check_device(ctx, kOp, blocks);
  with_executor(ctx, [&](const auto& exec) { write_hypers(exec, hypers, blocks.data()); });
}

void sgd_step(Context& ctx, const OptimTensors& tensors, Tensor& buffer, bool nesterov) {
  float* const b = state_data("sgd_step", tensors, buffer);
  check<Error>(b != nullptr || !nesterov, "sgd_step: Nesterov's form needs a momentum buffer");
  update(ctx, "sgd_step", tensors, [&](const auto& exec, const auto& args) {
    sgd_step(exec, args, b, nesterov);
  });
}

void adam_step(Context& ctx, const OptimTensors& tensors, Tensor& mean, Tensor& square) {
  float* const m = state_data("adam_step", tensors, mean);
  float* const v = state_data("adam_step", tensors, square);
  check<Error>(m != nullptr && v != nullptr, "adam_step: both moments must have memory");
  update(ctx, "adam_step", tensors, [&](const auto& exec, const auto& args) {
    adam_step(exec, args, m, v);
  });
}

void rmsprop_step(Context& ctx, const OptimTensors& tensors, RmsPropState& state) {
  float* const v = state_data("rmsprop_step", tensors, state.square);
  float* const a = state_data("rmsprop_step", tensors, state.mean);
  float* const b = state_data("rmsprop_step", tensors, state.buffer);
  check<Error>(v != nullptr, "rmsprop_step: the mean square must have memory");
  update(ctx, "rmsprop_step", tensors, [&](const auto& exec, const auto& args) {
    rmsprop_step(exec, args, v, a, b);
  });
}

}  // namespace learn::kernels
