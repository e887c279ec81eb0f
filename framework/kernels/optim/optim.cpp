#include "framework/kernels/optim/optim.h"

#include "framework/kernels/optim/optim_kernels.h"
#include "framework/kernels/optim/optim_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

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
void update(Context& ctx, const char* op, const OptimRun& run, F&& f) {
  check_run(ctx, op, run);
  check_device(ctx, op, run.hypers);
  check_device(ctx, op, run.control);
  Tensor weight = run.weight;
  with_half(run.half, [&]<class T>(T* half) {
    const OptimArgs<T> args{.weight = weight.data<float>(),
                            .grad = run.grad.data<float>(),
                            .half = half,
                            .n = weight.elements(),
                            .hypers = run.hypers.data(),
                            .control = run.control.data(),
                            .missed_steps = run.missed_steps,
                            .decoupled = run.decoupled_decay};
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

void sgd_step(Context& ctx, const OptimRun& run, Tensor& buffer, bool nesterov) {
  float* const b = state_data("sgd_step", run, buffer);
  check<Error>(b != nullptr || !nesterov, "sgd_step: Nesterov's form needs a momentum buffer");
  update(ctx, "sgd_step", run, [&](const auto& exec, const auto& args) {
    sgd_step(exec, args, b, nesterov);
  });
}

void adam_step(Context& ctx, const OptimRun& run, Tensor& mean, Tensor& square) {
  float* const m = state_data("adam_step", run, mean);
  float* const v = state_data("adam_step", run, square);
  check<Error>(m != nullptr && v != nullptr, "adam_step: both moments must have memory");
  update(ctx, "adam_step", run, [&](const auto& exec, const auto& args) {
    adam_step(exec, args, m, v);
  });
}

void rmsprop_step(Context& ctx, const OptimRun& run, RmsPropState& state) {
  float* const v = state_data("rmsprop_step", run, state.square);
  float* const a = state_data("rmsprop_step", run, state.mean);
  float* const b = state_data("rmsprop_step", run, state.buffer);
  check<Error>(v != nullptr, "rmsprop_step: the mean square must have memory");
  update(ctx, "rmsprop_step", run, [&](const auto& exec, const auto& args) {
    rmsprop_step(exec, args, v, a, b);
  });
}

}  // namespace learn::kernels
