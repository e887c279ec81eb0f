#include "framework/backend/optim.h"

#include "framework/backend/cpu/optim.h"
#include "framework/backend/cpu/reference/optim.h"
#include "framework/backend/dispatch.h"

#include <cstring>

namespace learn::backend {
namespace {

template <class T>
T read_block(const char* op, const Tensor& block) {
  check(block.bytes() == sizeof(T),
        "{}: a control block has {} bytes, expected {}",
        op,
        block.bytes(),
        sizeof(T));
  T value;
  std::memcpy(&value, block.raw(), sizeof(T));
  return value;
}

void check_run(Context& ctx, const char* op, const OptimRun& run) {
  for (const Tensor* t : {&run.weight, &run.grad}) {
    check<DTypeError>(
        t->dtype() == DType::f32, "{}: masters and gradients are f32, got {}", op, t->dtype());
    check(t->shape() == run.weight.shape(),
          "{}: shapes differ: weights {}, gradients {}",
          op,
          run.weight.shape(),
          t->shape());
    check_device(ctx, op, *t);
  }
  if (!run.half.defined()) return;
  check<DTypeError>(is_half(run.half.dtype()),
                    "{}: working copies are f16 or bf16, got {}",
                    op,
                    run.half.dtype());
  check(run.half.shape() == run.weight.shape(),
        "{}: shapes differ: weights {}, working copy {}",
        op,
        run.weight.shape(),
        run.half.shape());
  check_device(ctx, op, run.half);
}

/// Null for an undefined tensor.
float* state_data(const char* op, const OptimRun& run, Tensor& state) {
  if (!state.defined()) return nullptr;
  check(state.shape() == run.weight.shape(),
        "{}: shapes differ: weights {}, state {}",
        op,
        run.weight.shape(),
        state.shape());
  return state.data<float>();
}

/// Calls `update(args)` for the type of the working copy, unless the step is skipped.
template <class Update>
void update_unless_skipped(Context& ctx, const char* op, const OptimRun& run, Update update) {
  check_run(ctx, op, run);
  if (ctx.device().is_cuda()) no_cuda_twin(op);
  const auto control = read_block<StepControl>(op, run.control);
  if (control.found_inf != 0) return;
  const auto with_half = [&]<class T>(T* half) {
    Tensor weight = run.weight;
    update(cpu::OptimArgs<T>{.weight = weight.data<float>(),
                             .grad = run.grad.data<float>(),
                             .half = half,
                             .n = weight.elements(),
                             .hypers = read_block<GroupHypers>(op, run.hypers),
                             .control = control,
                             .missed_steps = run.missed_steps,
                             .decoupled = run.decoupled_decay});
  };
  Tensor half = run.half;
  if (!half.defined())
    with_half(static_cast<float*>(nullptr));
  else if (half.dtype() == DType::f16)
    with_half(half.data<Half>());
  else
    with_half(half.data<BFloat16>());
}

}  // namespace

void sgd_step(Context& ctx, const OptimRun& run, Tensor& buffer, bool nesterov) {
  float* const b = state_data("sgd_step", run, buffer);
  check<Error>(b != nullptr || !nesterov, "sgd_step: Nesterov's form needs a momentum buffer");
  update_unless_skipped(ctx, "sgd_step", run, [&](const auto& args) {
    if (ctx.reference())
      cpu::reference::sgd_step(args, b, nesterov);
    else
      cpu::sgd_step(ctx.threads(), args, b, nesterov);
  });
}

void adam_step(Context& ctx, const OptimRun& run, Tensor& mean, Tensor& square) {
  float* const m = state_data("adam_step", run, mean);
  float* const v = state_data("adam_step", run, square);
  check<Error>(m != nullptr && v != nullptr, "adam_step: both moments must have memory");
  update_unless_skipped(ctx, "adam_step", run, [&](const auto& args) {
    if (ctx.reference())
      cpu::reference::adam_step(args, m, v);
    else
      cpu::adam_step(ctx.threads(), args, m, v);
  });
}

void rmsprop_step(Context& ctx, const OptimRun& run, RmsPropState& state) {
  float* const v = state_data("rmsprop_step", run, state.square);
  float* const a = state_data("rmsprop_step", run, state.mean);
  float* const b = state_data("rmsprop_step", run, state.buffer);
  check<Error>(v != nullptr, "rmsprop_step: the mean square must have memory");
  update_unless_skipped(ctx, "rmsprop_step", run, [&](const auto& args) {
    if (ctx.reference())
      cpu::reference::rmsprop_step(args, v, a, b);
    else
      cpu::rmsprop_step(ctx.threads(), args, v, a, b);
  });
}

}  // namespace learn::backend
