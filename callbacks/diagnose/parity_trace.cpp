#include "callbacks/diagnose/parity_trace.h"

#include "framework/core/random.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"
#include "framework/tensor/factory.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace learn::callbacks {
namespace {

// Errors estimated from a sample of 2^14 are accurate to about a percent, from 2^10 to a few
// percent. With the first, a step of a net of forty layers takes 8 MB; with many steps, less is
// kept of each.
constexpr std::int64_t kLargestSample = 1 << 14;
constexpr std::int64_t kSmallestSample = 1 << 10;
constexpr std::int64_t kSampleOfAll = 1 << 18;

/// Returns the position of a sample in its share of the elements. It varies between shares, because
/// a fixed position might always hit the same channel.
std::int64_t place_in(std::int64_t sample, std::int64_t width) {
  const Random4 random = philox4x32(Random4{{static_cast<std::uint32_t>(sample), 0, 0, 0}}, 0, 0);
  return static_cast<std::int64_t>(uniform_below(random.v[0], static_cast<std::uint32_t>(width)));
}

/// Returns the change from `before` to `after`, which were sampled at the same positions.
TensorTrace change_of(const TensorTrace& before, const TensorTrace& after) {
  TensorTrace change{.dtype = after.dtype, .count = after.count};
  change.not_finite = std::max<std::int64_t>(after.not_finite - before.not_finite, 0);
  for (std::size_t i = 0; i < after.sample.size(); ++i) {
    const float value = after.sample[i] - before.sample[i];
    if (std::isfinite(value))
      change.largest = std::max(change.largest, std::fabs(static_cast<double>(value)));
    change.sample.push_back(value);
  }
  return change;
}

}  // namespace

TensorTrace trace_tensor(Context& ctx, const Tensor& x, std::int64_t sample) {
  TensorTrace trace{.dtype = x.dtype(), .count = x.elements()};
  const Tensor host = x.device().is_cpu() ? x : to_host(ctx, x);
  visit_floating(host.dtype(), [&]<class T>() {
    const std::span<const T> values = host.span<T>();
    for (const T element : values) {
      const double value = std::fabs(as_double(element));
      if (std::isfinite(value))
        trace.largest = std::max(trace.largest, value);
      else
        ++trace.not_finite;
    }
    const std::int64_t kept = std::min(trace.count, sample);
    trace.sample.reserve(static_cast<std::size_t>(kept));
    for (std::int64_t i = 0; i < kept; ++i) {
      const std::int64_t begin = i * trace.count / kept;
      const std::int64_t end = (i + 1) * trace.count / kept;
      trace.sample.push_back(
          as_float(values[static_cast<std::size_t>(begin + place_in(i, end - begin))]));
    }
  });
  return trace;
}

ParityTrace::ParityTrace(std::int64_t steps)
    : wanted_(steps), sample_(std::clamp(kSampleOfAll / steps, kSmallestSample, kLargestSample)) {}

void ParityTrace::batch_begin(Learner& learn) {
  if (!learn.progress().training) return;
  steps_.push_back({.alone = !learn.progress().gradients_held});
  steps_before_ = learn.optimizer().read_control().step;
  weights_before_ = trace_trainable(learn, learn.params().flat_master());
  ctx_ = &learn.context();
  Tape& tape = learn.tape();
  forward_ = tape.observer();
  backward_ = tape.backward_observer();
  tape.observe(this);
  tape.observe_backward(this);
  watching_ = true;
}

void ParityTrace::forwarded(const nn::Module& module, const Var& in, const Var& out) {
  if (forward_ != nullptr) forward_->forwarded(module, in, out);
  std::vector<CallTrace>& calls = steps_.back().calls;
  TensorTrace made;
  if (!calls.empty() && calls.back().output == out.id()) {
    if (forward_ == nullptr) return;
    // The other observer may have injected a fault into the output of the last inner module.
    made = trace_tensor(*ctx_, out.value(), sample_);
    if (made.not_finite == calls.back().made.not_finite) return;
  }
  CallTrace call{
      .path = module.path(), .text = module.describe(), .input = in.id(), .output = out.id()};
  if (std::ranges::find(calls, in.id(), &CallTrace::output) == calls.end())
    call.given = trace_tensor(*ctx_, in.value(), sample_);
  call.made = made.defined() ? std::move(made) : trace_tensor(*ctx_, out.value(), sample_);
  calls.push_back(std::move(call));
}

void ParityTrace::reached(std::uint32_t value, std::string_view operation, Tensor& gradient) {
  if (backward_ != nullptr) backward_->reached(value, operation, gradient);
  const auto call = std::ranges::find(steps_.back().calls, value, &CallTrace::output);
  if (call == steps_.back().calls.end()) return;
  call->gradient = trace_tensor(*ctx_, gradient, sample_);
}

/// Runs before another callback ends the training because of the loss.
void ParityTrace::backward_begin(Learner& learn) {
  steps_.back().loss = get(to_host(learn.context(), learn.batch().loss.value()), 0);
}

void ParityTrace::backward_end(Learner& learn) {
  StepTrace& step = steps_.back();
  Context& ctx = learn.context();
  const BatchRun& batch = learn.batch();
  step.lr = static_cast<double>(learn.optimizer().lr(learn.params().layer_groups() - 1));
  if (batch.seed.defined()) step.seed = get(to_host(ctx, batch.seed), 0);
  nn::ParamStore& params = learn.params();
  for (std::int64_t i = 0; i < params.size(); ++i)
    step.parameters.push_back(
        params.slot(i).trainable ? trace_tensor(ctx, params.slot(i).grad, sample_) : TensorTrace());
  stop_watching(learn);
}

void ParityTrace::batch_end(Learner& learn) {
  if (!learn.progress().training) return;
  stop_watching(learn);
  StepTrace& step = steps_.back();
  step.applied = learn.optimizer().read_control().step > steps_before_;
  if (step.applied) {
    const std::vector<TensorTrace> after = trace_trainable(learn, learn.params().flat_master());
    for (std::size_t i = 0; i < after.size(); ++i)
      step.updates.push_back(change_of(weights_before_[i], after[i]));
    for (const auto& [name, state] : learn.params().states())
      step.states.emplace(name, trace_trainable(learn, state.values));
  }
  if (std::ssize(steps_) == wanted_) learn.cancel(Scope::train);
}

void ParityTrace::error(Learner& learn, const std::exception&) { stop_watching(learn); }

std::vector<TensorTrace> ParityTrace::trace_trainable(Learner& learn, const Tensor& flat) const {
  const nn::ParamStore& params = learn.params();
  const Tensor host = to_host(learn.context(), flat);
  std::vector<TensorTrace> traces;
  for (std::int64_t i = 0; i < params.size(); ++i)
    traces.push_back(
        params.slot(i).trainable
            ? trace_tensor(learn.context(),
                           host.range(params.offset(i), params.info(i).shape.elements()),
                           sample_)
            : TensorTrace());
  return traces;
}

/// An observer that injects faults may no longer exist, so it is not restored.
void ParityTrace::stop_watching(Learner& learn) {
  if (!watching_) return;
  watching_ = false;
  learn.tape().observe(nullptr);
  learn.tape().observe_backward(nullptr);
  forward_ = nullptr;
  backward_ = nullptr;
}

}  // namespace learn::callbacks
