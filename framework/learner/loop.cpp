// Passes and batches: the fixed loop of event.h.
#include "framework/backend/cast.h"
#include "framework/backend/loss_scale.h"
#include "framework/learner/learner.h"

#include <limits>

namespace learn {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void Learner::train_pass() {
  state_.training = true;
  state_.batches = train_.batches();
  state_.batch_in_pass = state_.batch_clock - state_.epoch_first_batch;  // 0 but after a resume
  if (state_.batch_in_pass == state_.batches) return;  // it was cut short in its validation pass
  if (state_.batch_in_pass == 0) losses_.begin(ctx_, state_.batches);
  state_.train_loss = kNaN;
  train_.begin(state_.epoch_clock);
  while (!cancelled_ && train_.next(state_.batch)) {
    run(Scope::batch, [&] { runner_->run(*this, [&] { train_batch(); }); });
    release_batch();
    ++state_.batch_in_pass;
  }
  drop_held_gradients();
  state_.train_loss = losses_.mean(ctx_);
  sync_step_clock();
}

Var Learner::input() {
  const Batch& batch = state_.batch;
  return batch.padding == 0 ? tape_.input(batch.x) : tape_.padded_input(batch.x, batch.padding);
}

void Learner::train_batch() {
  if (forward_ran_) forget_attempt();
  forward_ran_ = true;
  tape_.reset({.mode = ForwardMode::train,
               .grad = true,
               .batch = static_cast<std::uint64_t>(state_.batch_clock)});
  state_.pred = model()(input());
  emit(Event::loss_begin);
  if (cancelled_) return;
  state_.loss = options_.loss.fn(state_.pred, state_.batch.y);
  emit(Event::backward_begin);
  if (cancelled_) return;
  if (!state_.gradients_held) {
    params().begin_gradients();
    backend::begin_step(ctx_, optimizer_->control());
  }
  // One that took no part has what an earlier batch left there: as a leaf it gets zeros.
  for (std::int64_t i = 0; i < params().size(); ++i)
    if (ParamSlot& slot = params().slot(i); slot.trainable) (void)tape_.param(slot);
  tape_.backward(state_.loss, state_.seed);
  emit(Event::backward_end);
  if (cancelled_ || skipped_ || state_.deferred) return;
  run(Scope::step, [&] { train_step(); });
}

/// A StepRunner may run the body again after an attempt that threw.
void Learner::forget_attempt() {
  while (open_.back() != Scope::batch) open_.pop_back();
  running_ = {};
  state_.seed = {};
  state_.deferred = false;
  seeder_ = nullptr;
  unscaler_ = nullptr;
  skipped_ = false;
  stepped_ = false;
}

void Learner::adopt_step(const Tensor& pred, const Tensor& loss) {
  tape_.reset({.mode = ForwardMode::eval, .grad = false});
  state_.pred = tape_.input(pred);
  state_.loss = tape_.input(loss);
  forward_ran_ = true;
  stepped_ = true;
}

void Learner::train_step() {
  optimizer_->step();
  stepped_ = true;
  if (!ctx_.device().is_cuda()) sync_step_clock();
}

/// Clocks count what is closing before the callbacks hear of its end, so that what they save says
/// where to go on.
void Learner::settle(Scope scope) {
  if (scope == Scope::epoch) settle_epoch();
  if (scope == Scope::batch && state_.training) settle_batch();
}

void Learner::settle_epoch() {
  state_.epoch_cut = cancelled_ && open_[*cancelled_] == Scope::train;
  if (state_.epoch_cut) return;
  ++state_.epoch_clock;
  state_.epoch_first_batch = state_.batch_clock;
}

void Learner::settle_batch() {
  ++state_.batch_clock;
  if (state_.loss.defined() && (stepped_ || !cancelled_))
    losses_.add(ctx_, state_.loss.value(), state_.batch.size());
  if (!forward_ran_) return;
  state_.gradients_held = state_.deferred && !skipped_ && !cancelled_;
  if (!stepped_ && !state_.gradients_held) roll_back_buffers();
}

void Learner::drop_held_gradients() {
  if (!state_.gradients_held) return;
  state_.gradients_held = false;
  roll_back_buffers();
}

void Learner::roll_back_buffers() {
  backend::copy(ctx_, params().flat_committed_buffers(), params().flat_buffers());
}

void Learner::release_batch() {
  state_.batch = {};
  state_.pred = {};
  state_.loss = {};
  state_.seed = {};
  state_.deferred = false;
  seeder_ = nullptr;
  unscaler_ = nullptr;
  forward_ran_ = false;
  skipped_ = false;
  stepped_ = false;
  tape_.reset();
}

void Learner::evaluate(BatchSource& source,
                       FunctionRef<void()> each_batch,
                       FunctionRef<void()> at_end) {
  state_.training = false;
  state_.batches = source.batches();
  state_.batch_in_pass = 0;
  losses_.begin(ctx_, state_.batches);
  run(Scope::validate, [&] {
    source.begin(0);
    while (!cancelled_ && source.next(state_.batch)) {
      run(Scope::batch, [&] { evaluate_batch(each_batch); });
      release_batch();
      ++state_.batch_in_pass;
    }
    at_end();
  });
}

void Learner::evaluate_batch(FunctionRef<void()> each_batch) {
  tape_.reset({.mode = ForwardMode::eval, .grad = false});
  state_.pred = model()(input());
  emit(Event::loss_begin);
  if (cancelled_) return;
  if (state_.batch.y.defined()) {
    state_.loss = options_.loss.fn(state_.pred, state_.batch.y);
    losses_.add(ctx_, state_.loss.value(), state_.batch.size());
  }
  each_batch();
}

void Learner::validation_pass() {
  state_.valid_loss = kNaN;
  state_.metrics.clear();
  for (const Metric& metric : options_.metrics) state_.metrics.emplace_back(metric.name, kNaN);
  MetricSums sums(ctx_, options_.metrics);
  const auto add_metrics = [&] { sums.add(state_.pred.value(), state_.batch.y); };
  const auto settle = [&] {
    state_.valid_loss = losses_.mean(ctx_);
    const std::vector<double> means = sums.means(losses_.samples());
    for (std::size_t i = 0; i < means.size(); ++i) state_.metrics[i].second = means[i];
  };
  evaluate(*valid_, add_metrics, settle);
}

}  // namespace learn
