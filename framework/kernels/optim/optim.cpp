#include "framework/kernels/optim/optim.h"

#include "framework/kernels/optim/optim_kernels.h"
#include "framework/kernels/optim/optim_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

void check_tensors(Context& ctx, const char* op, const OptimTensors& tensors) {
  const DType stored = tensors.weight.dtype();
  check<DTypeError>(stored == DType::f32 || is_half(stored),
                    "{}: weights and gradients are f32, f16 or bf16, got {}",
                    op,
                    stored);
  check_same(op, tensors.weight, tensors.grad);
  check_device(ctx, op, tensors.weight);
  check_device(ctx, op, tensors.grad);
  if (!tensors.half.defined()) return;
  check<DTypeError>(stored == DType::f32 && is_half(tensors.half.dtype()),
                    "{}: working copies must be f16 or bf16 of f32 weights, not {} of {}",
                    op,
                    tensors.half.dtype(),
                    stored);
  check(tensors.half.shape() == tensors.weight.shape(),
        "{}: shapes differ: weights {}, working copy {}",
        op,
        tensors.weight.shape(),
        tensors.half.shape());
  check_device(ctx, op, tensors.half);
}

void check_state(const char* op, const OptimTensors& tensors, const Tensor& state) {
  if (state.defined()) check_same(op, tensors.weight, state);
}

/// Calls `f.operator()<S, T>()` with the types of `OptimArgs`.
template <class F>
void with_types(const OptimTensors& tensors, F&& f) {
  const DType stored = tensors.weight.dtype();
  const DType copy = tensors.half.defined() ? tensors.half.dtype() : stored;
  if (stored == DType::f16)
    f.template operator()<Half, Half>();
  else if (stored == DType::bf16)
    f.template operator()<BFloat16, BFloat16>();
  else if (copy == DType::f16)
    f.template operator()<float, Half>();
  else if (copy == DType::bf16)
    f.template operator()<float, BFloat16>();
  else
    f.template operator()<float, float>();
}

/// Calls `f(executor, args)`.
template <class F>
void update(Context& ctx, const char* op, const OptimTensors& tensors, F&& f) {
  check_tensors(ctx, op, tensors);
  check_device(ctx, op, tensors.hypers);
  check_device(ctx, op, tensors.control);
  Tensor weight = tensors.weight;
  Tensor half = tensors.half;
  with_types(tensors, [&]<class S, class T>() {
    const OptimArgs<S, T> args{.weight = weight.data<S>(),
                               .grad = tensors.grad.data<S>(),
                               .half = data_or_null<T>(half),
                               .n = weight.elements(),
                               .hypers = tensors.hypers.data(),
                               .control = tensors.control.data(),
                               .missed_steps = tensors.missed_steps,
                               .decoupled = tensors.decoupled_decay};
    with_executor(ctx, [&](const auto& exec) { f(exec, args); });
  });
}

/// Returns the elements of a state, in the type of the weights, or null if it is not defined.
template <class S, class T>
S* data_of(Tensor& state, const OptimArgs<S, T>&) {
  return data_or_null<S>(state);
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
  constexpr const char* kOp = "sgd_step";
  check_state(kOp, tensors, buffer);
  check<Error>(buffer.defined() || !nesterov, "{}: Nesterov momentum needs a momentum buffer", kOp);
  update(ctx, kOp, tensors, [&](const auto& exec, const auto& args) {
    sgd_step(exec, args, data_of(buffer, args), nesterov);
  });
}

void adam_step(Context& ctx, const OptimTensors& tensors, Tensor& mean, Tensor& square) {
  constexpr const char* kOp = "adam_step";
  check_state(kOp, tensors, mean);
  check_state(kOp, tensors, square);
  check<Error>(mean.defined() && square.defined(), "{}: both moments must have memory", kOp);
  update(ctx, kOp, tensors, [&](const auto& exec, const auto& args) {
    adam_step(exec, args, data_of(mean, args), data_of(square, args));
  });
}

void rmsprop_step(Context& ctx, const OptimTensors& tensors, RmsPropState& state) {
  constexpr const char* kOp = "rmsprop_step";
  for (const Tensor* one : {&state.square, &state.mean, &state.buffer})
    check_state(kOp, tensors, *one);
  check<Error>(state.square.defined(), "{}: the mean square must have memory", kOp);
  update(ctx, kOp, tensors, [&](const auto& exec, const auto& args) {
    rmsprop_step(exec,
                 args,
                 data_of(state.square, args),
                 data_of(state.mean, args),
                 data_of(state.buffer, args));
  });
}

}  // namespace learn::kernels
