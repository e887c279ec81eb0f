// Preparation, counting and cleanup around passes and batches.
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/step/step.h"
#include "framework/learner/exchange.h"
#include "framework/learner/learner.h"
#include "framework/nn/dry_pass.h"
#include "framework/runtime/transfer.h"

#include <limits>

namespace learn {
namespace {

/// The nearest size, smaller ones first, that leaves no batch of one sample.
std::int64_t other_batch_size(std::int64_t samples, std::int64_t size) {
  for (std::int64_t other = size - 1; other > 1; --other)
    if (samples % other != 1) return other;
  for (std::int64_t other = size + 1;; ++other)
    if (samples % other != 1) return other;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

/// False if the training pass of a resumed epoch is complete, because it was interrupted during
/// validation.
bool Learner::begin_train_pass() {
  state_.progress.begin_pass(true, train_source().batches());
  state_.progress.training = state_.progress.batch_in_pass < state_.progress.batches;
  if (!state_.progress.training) return false;
  params().refresh_working();  // a handler, or the user between two fits, may have written masters
  if (state_.progress.batch_in_pass == 0) {
    state_.losses.begin(state_.progress.batches);
    begin_train_metrics();
    state_.progress.pass_first_skipped = optimizer_->read_control().skipped;
  }
  state_.results.train_loss = kNaN;
  if (options_.loss.weight) update_weight_.prepare(ctx_);
  begin_pass_of(train_source(), state_.progress.epoch_clock);
  return true;
}

/// Sources that cannot make a share make whole batches, of which `take_share` takes it.
void Learner::begin_pass_of(BatchSource& source, std::int64_t epoch) {
  const Exchange* const ranks = exchange();
  const Share share = ranks != nullptr ? ranks->share() : Share{};
  takes_share_ = !source.set_share(share) && share.ranks > 1;
  source.begin(epoch);
}

/// Copies the rows, because kernels rely on the alignment of tensors.
void Learner::take_share() {
  const Share share = exchange()->share();
  const std::int64_t samples = batch_.size();
  const RowRange rows = share.computed(samples);
  const auto copied = [&](const Tensor& of_all) {
    Tensor out = ctx_.empty(of_all.rows(rows.first, rows.count).shape(), of_all.dtype());
    copy(ctx_, of_all.rows(rows.first, rows.count), out);
    return out;
  };
  batch_.x = copied(batch_.x);
  if (batch_.y.defined()) batch_.y = copied(batch_.y);
  if (!batch_.index.empty())
    batch_.index = {batch_.index.begin() + rows.first,
                    batch_.index.begin() + rows.first + rows.count};
  batch_.whole = samples;
  batch_.first = rows.first;
  batch_.spare = share.of(samples).count == 0;
}

/// Rows of the batch as they would be without other ranks.
Tensor Learner::of_all_ranks(const Tensor& rows) {
  Exchange* const ranks = exchange();
  return ranks != nullptr ? ranks->whole(ctx_, rows, batch_) : rows;
}

void Learner::begin_train_metrics() {
  state_.results.train_metrics.clear();
  if (!options_.train_metrics) return;
  state_.train_metrics.emplace(ctx_, options_.metrics);
  for (const Metric& metric : options_.metrics)
    state_.results.train_metrics.emplace_back("train_" + metric.name, kNaN);
}

void Learner::end_train_pass() {
  state_.progress.training = false;
  if (state_.progress.pass_first_batch > 0 && !cancelled())
    check_place(state_.progress.batch_in_pass == state_.progress.batches);
  drop_held_gradients();
  const StepControl control = optimizer_->read_control();
  state_.progress.step_clock = control.step;
  state_.results.skipped_steps = control.skipped - state_.progress.pass_first_skipped;
  state_.results.train_loss = state_.losses.mean(ctx_, state_.results.skipped_steps);
  if (!state_.train_metrics) return;
  const auto values = state_.train_metrics->values();
  for (std::size_t i = 0; i < values.size(); ++i)
    state_.results.train_metrics[i].second = values[i].second;
}

bool Learner::next_batch(BatchSource& source) {
  release_batch();
  if (cancelled()) return false;
  if (!source.next(batch_)) {
    check_pass_is_whole();
    return false;
  }
  if (takes_share_) take_share();
  if (state_.progress.batch_in_pass == 0) check_batch(source);
  if (state_.progress.training && state_.progress.pass_first_batch > 0)
    check_place(state_.progress.batch_in_pass < state_.progress.batches);
  return true;
}

/// A checkpoint stores the position in an epoch twice: in the counters and in the source.
void Learner::check_place(bool right) const {
  if (!right)
    fail<CheckpointError>(
        "the checkpoint's position in the training data contradicts its counters: the epoch ended "
        "after {} of {} batches",
        state_.progress.batch_in_pass,
        state_.progress.batches);
}

/// Schedules are planned by what the source announces. That a resumed pass is whole is checked by
/// `end_train_pass`.
void Learner::check_pass_is_whole() const {
  if (state_.progress.batch_in_pass == state_.progress.batches ||
      (state_.progress.training && state_.progress.pass_first_batch > 0))
    return;
  fail<DataError>(
      "the {} source announced {} batches but returned {}: its batches() must return how many "
      "next() returns in a pass",
      state_.progress.training ? "training" : "validation",
      state_.progress.batches,
      state_.progress.batch_in_pass);
}

void Learner::check_batch(const BatchSource& source) const {
  const Shape said = source.sample_shape();
  if (said.rank() == 0) return;
  Shape given;
  for (int i = 1; i < batch_.x.shape().rank(); ++i) given.push_back(batch_.x.shape()[i]);
  if (given.rank() > 0) given.set(given.rank() - 1, given[-1] - batch_.padding);
  if (given != said)
    fail<DataError>("the {} source declares samples of {}, but its batch has samples of {}",
                    state_.progress.training ? "training" : "validation",
                    said,
                    given);
}

/// Handlers may still choose the mode in which frozen layers use their running statistics.
void Learner::check_batches() const { check_smallest_batch(ForwardMode::train_unfrozen); }

void Learner::check_smallest_batch(ForwardMode mode) const {
  const BatchSource& source = train_source();
  const Shape sample = source.sample_shape();
  Exchange* const ranks = exchange();
  const bool apart = ranks != nullptr && ranks->batch_norm_ranks() == nullptr;
  const std::int64_t parts = apart ? ranks->share().ranks : 1;
  const std::int64_t smallest = source.smallest_batch();
  // Some ranks have the share that is rounded down, and at least one row to compute.
  if (smallest == 0 || smallest / parts > 1 || sample.rank() == 0) return;
  const auto norm = nn::norm_of_single_values(model(), params(), sample, mode, state_.autocast);
  if (!norm) return;
  if (parts > 1)
    fail<UsageError>(
        "the smallest training batch has {} samples for {} ranks, so on a rank BatchNorm '{}' has "
        "one value per channel and no variance: use at least 2 samples per rank in every batch "
        "(--batch-size, --drop-last), or fewer ranks",
        smallest,
        parts,
        *norm);
  const std::int64_t samples = source.samples();
  if (samples == source.batches())
    fail<UsageError>(
        "each training batch has one sample, so BatchNorm '{}' has one value per channel and no "
        "variance: use a batch size of at least 2 (--batch-size)",
        *norm);
  const std::int64_t size = (samples - 1) / (source.batches() - 1);
  fail<UsageError>(
      "the last of {} training batches has one sample, so BatchNorm '{}' has one value per channel "
      "and no variance: skip that batch (--drop-last, LoaderOptions::drop_last), or change the "
      "batch size from {} (--batch-size {})",
      source.batches(),
      *norm,
      size,
      other_batch_size(samples, size));
}

void Learner::release_batch() {
  batch_ = {};
  tape_.reset();
}

/// A StepRunner may run the body again after an attempt that threw: nothing of that one stays.
void Learner::begin_attempt() {
  scopes_.unwind_to(Scope::batch);
  callbacks_.reset();
  if (!state_.progress.gradients_held) seeded_by_.clear();
  batch_ = {std::move(static_cast<Batch&>(batch_))};
}

Var Learner::forward(ForwardMode mode) {
  Exchange* const ranks = exchange();
  tape_.set_rank_gather(ranks != nullptr ? ranks->batch_norm_ranks() : nullptr);
  tape_.reset({.mode = mode,
               .grad = mode != ForwardMode::eval,
               .batch = static_cast<std::uint64_t>(state_.progress.batch_clock),
               .first_row = batch_.first,
               .autocast = state_.autocast,
               .spare = batch_.spare,
               .samples = batch_.samples()});
  return model()(tape_.padded_input(batch_.x, batch_.padding));
}

void Learner::compute_loss() {
  const nn::Loss& loss = options_.loss;
  batch_.loss = loss.fn(batch_.pred, batch_.loss_target());
  if (!loss.weight) return;
  const Var weight = loss.weight(tape_, batch_.loss_target());
  if (!weight.defined()) return;
  check(weight.value().elements() == 1 && weight.dtype() == DType::f32,
        "loss '{}': the weight of a batch must be one f32 element, it has shape {} and dtype {}",
        loss.name,
        weight.shape(),
        weight.dtype());
  batch_.weight = weight.value().view({1});
}

void Learner::backward() {
  if (!state_.progress.gradients_held) {
    params().begin_gradients();
    kernels::begin_step(ctx_, optimizer_->control());
  }
  // One that took no part has what an earlier batch left there: as a leaf it gets zeros.
  for (std::int64_t i = 0; i < params().size(); ++i)
    if (ParamSlot& slot = params().slot(i); slot.trainable) (void)tape_.param(slot);
  Exchange* const ranks = exchange();
  tape_.observe_gradients(nullptr);
  if (ranks == nullptr) {
    if (state_.progress.gradients_held || batch_.outcome == Outcome::deferred)
      weigh({});
    else
      update_weight_.clear();
    tape_.backward(batch_.loss, batch_.seed);
    return;
  }
  ranks->agree(state_.progress, batch_, params());
  weigh(ranks->weight(ctx_));
  // Gradients of a batch without an update stay with the rank.
  const bool sends = batch_.outcome == Outcome::pending;
  if (sends)
    ranks->begin_gradients(
        params(),
        optimizer_->control(),
        state_.progress.gradients_held ? GradMode::accumulate : GradMode::overwrite);
  if (sends) tape_.observe_gradients(ranks);
  tape_.backward(batch_.loss, batch_.seed);
  if (sends) ranks->end_gradients();
  batch_.half_gradients_taken = sends;
  take_totals();
}

/// Puts the batch's weight into the seed; `whole` is the weight of all ranks' shares.
void Learner::weigh(const Tensor& whole) {
  Tensor factor = update_weight_.add(ctx_, !state_.progress.gradients_held, batch_, whole);
  if (!factor.defined()) return;
  if (batch_.seed.defined()) kernels::multiply(ctx_, batch_.seed, factor, factor);
  batch_.seed = factor;
}

void Learner::take_totals() {
  const BatchTotals totals = exchange()->totals(ctx_);
  batch_.loss = tape_.input(totals.loss);
  batch_.weight = totals.weight;
}

/// Counters are updated before the callbacks receive the end event, so that a saved state contains
/// the position at which to continue.
void Learner::finish(Scope scope) {
  if (scope == Scope::epoch) state_.progress.finish_epoch(scopes_.cancelled(Scope::train));
  if (scope == Scope::batch && state_.progress.training) finish_batch();
}

void Learner::finish_batch() {
  ++state_.progress.batch_clock;
  if (batch_.outcome != Outcome::stepped && cancelled()) batch_.outcome = Outcome::cancelled;
  // Its step scope was left before the update.
  if (batch_.outcome == Outcome::pending) batch_.outcome = Outcome::skipped;
  if (batch_.loss.defined() && batch_.outcome != Outcome::cancelled) {
    state_.losses.add(ctx_, batch_);
    if (state_.train_metrics)
      state_.train_metrics->add(of_all_ranks(batch_.pred.value()), of_all_ranks(batch_.y));
  }
  if (!batch_.pred.defined()) return;  // it ended before it could change anything
  state_.progress.gradients_held = batch_.outcome == Outcome::deferred;
  if (batch_.outcome == Outcome::skipped || batch_.outcome == Outcome::cancelled)
    params().restore_buffers();
}

void Learner::drop_held_gradients() {
  if (!state_.progress.gradients_held) return;
  state_.progress.gradients_held = false;
  params().restore_buffers();
}

void Learner::validate_epoch(BatchSource& source) {
  state_.results.valid_loss = kNaN;
  state_.results.valid_samples = 0;
  MetricPasses metrics(ctx_, options_.metrics);
  state_.results.metrics.clear();
  for (const Metric& metric : options_.metrics)
    state_.results.metrics.emplace_back(metric.name, kNaN);
  const auto add_metrics = [&] {
    if (options_.metrics.empty()) return;
    metrics.add(of_all_ranks(batch_.pred.value()), of_all_ranks(batch_.y));
  };
  const auto take_results = [&] {
    state_.results.valid_loss = state_.valid_losses.mean(ctx_);
    state_.results.valid_samples = state_.valid_losses.samples();
    state_.results.metrics = metrics.values();
  };
  evaluate(source, add_metrics, take_results);
}

void Learner::sync_step_clock() { state_.progress.step_clock = optimizer().read_control().step; }

void Learner::set_results(const Tensor& pred,
                          const Tensor& loss,
                          const Tensor& weight,
                          Outcome outcome) {
  tape_.reset({.mode = ForwardMode::eval, .grad = false});
  if (pred.defined()) batch_.pred = tape_.input(pred);
  if (loss.defined()) batch_.loss = tape_.input(loss);
  batch_.weight = weight;
  batch_.outcome = outcome;
}

}  // namespace learn
