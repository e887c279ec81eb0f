#include "framework/learner/history/recorder.h"

#include "framework/kernels/cast/cast.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"

#include <cmath>
#include <limits>
#include <utility>

namespace learn {
namespace {

constexpr std::int64_t kPending = 256;  // batches kept on the device before they must be read
constexpr std::int64_t kNorms = 3;

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Recorder::Recorder(double beta) : beta_(beta) {
  check<UsageError>(beta >= 0 && beta < 1, "recorder: beta must be in [0,1), got {}", beta);
}

void Recorder::train_begin(Learner& learn) {
  seen_batch_ = learn.progress().batch_clock;
  steps_.begin(learn.optimizer().read_control(), learn.optimizer().loss_scaling());
  if (on_device_.losses.defined()) return;
  Arena& arena = learn.context().persistent();
  on_device_ = {.losses = Tensor(arena, {kPending}, DType::f32),
                .controls = DeviceArray<StepControl>(arena, kPending),
                .norms = Tensor(arena, {kPending * kNorms}, DType::f32)};
}

void Recorder::epoch_begin(Learner& learn) {
  const FitProgress& fit = learn.progress();
  const bool goes_on = fit.batch_clock > fit.epoch_first_batch;
  if (!goes_on) {
    cut_seconds_ = 0;
    samples_ = 0;
    grad_norm_ = update_ratio_ = {};
  }
  epoch_begin_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(cut_seconds_));
  in_training_ = true;
  validated_ = false;
  finished_ = false;
}

/// Records the last batch if an earlier callback stopped the training at it (DivergedError).
void Recorder::error(Learner& learn, const std::exception& error) {
  if (dynamic_cast<const DivergedError*>(&error) == nullptr) return;
  if (learn.progress().batch_clock > seen_batch_) batch_end(learn);
}

void Recorder::batch_end(Learner& learn) {
  const FitProgress& fit = learn.progress();
  if (!fit.training || fit.activity != Activity::fit) return;
  seen_batch_ = fit.batch_clock;
  if (learn.batch().outcome == Outcome::cancelled) return;
  samples_ += learn.batch().samples();
  if (!learn.batch().loss.defined()) return;  // skipped before there was one
  if (static_cast<std::int64_t>(pending_.size()) == kPending) read_pending(learn);
  keep_on_device(learn);
  const int last_group = learn.params().layer_groups() - 1;
  const double position =
      static_cast<double>(fit.batch_in_pass + 1) / static_cast<double>(fit.batches);
  pending_.push_back(
      {.batch = fit.batch_clock,
       .epoch = static_cast<double>(fit.epoch_clock) + position,
       .lr = learn.optimizer().lr(last_group),
       .momentum = learn.optimizer().hypers(nn::index_of({last_group, true})).momentum});
  // Nothing is won by waiting where memory is shared.
  if (learn.context().device().is_cpu()) read_pending(learn);
}

void Recorder::note_norms(const Tensor& grad, const Tensor& update, const Tensor& weights) {
  if (grad.defined()) norms_[0] = grad;
  if (update.defined()) norms_[1] = update;
  if (weights.defined()) norms_[2] = weights;
}

/// Copies the current batch's loss, control block and norms to their places after the pending ones.
void Recorder::keep_on_device(Learner& learn) {
  Context& ctx = learn.context();
  const auto at = static_cast<std::int64_t>(pending_.size());
  Tensor loss = on_device_.losses.range(at, 1);
  kernels::cast(ctx, learn.batch().loss.value().view({1}), loss);
  Tensor control = on_device_.controls.at(at).bytes();
  copy(ctx, learn.optimizer().control().bytes(), control);
  std::array<bool, kNorms>& known = known_norms_.emplace_back();
  for (std::int64_t i = 0; i < kNorms; ++i) {
    const auto which = static_cast<std::size_t>(i);
    const Tensor norm = std::exchange(norms_.at(which), {});
    known.at(which) = norm.defined();
    if (!norm.defined()) continue;
    Tensor slot = on_device_.norms.range(at * kNorms + i, 1);
    copy(ctx, norm, slot);
  }
}

void Recorder::Mean::add(double value) {
  if (!std::isfinite(value)) return;
  sum += value;
  ++count;
}

void Recorder::Mean::visit_state(StateVisitor& visitor, std::string_view name) {
  const StateVisitor::Scope scope(visitor, name);
  visitor.visit("sum", sum, kFiniteLimits);
  visitor.visit("count", count, {});
}

double Recorder::Mean::value() const {
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

/// Norms of a batch with an update, as far as known.
void Recorder::set_norms(BatchRecord& record,
                         std::span<const float> norms,
                         const std::array<bool, kNorms>& known) {
  const auto norm = [&](std::size_t i) {
    return known.at(i) && record.skipped == 0 ? static_cast<double>(norms[i])
                                              : std::numeric_limits<double>::quiet_NaN();
  };
  record.grad_norm = norm(0);
  record.update_ratio = norm(1) / norm(2);
  grad_norm_.add(record.grad_norm);
  update_ratio_.add(record.update_ratio);
}

void Recorder::read_pending(Learner& learn) {
  if (pending_.empty()) return;
  Context& ctx = learn.context();
  const auto count = static_cast<std::int64_t>(pending_.size());
  const Tensor losses = to_host(ctx, on_device_.losses.range(0, count));
  const std::vector<StepControl> controls = on_device_.controls.range(0, count).read_all(ctx);
  const Tensor norms = to_host(ctx, on_device_.norms.range(0, count * kNorms));
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const auto loss = static_cast<double>(losses.span<float>()[i]);
    if (std::isfinite(loss)) {  // one bad batch must not blind the rest of the run
      weighted_sum_ = beta_ * weighted_sum_ + (1 - beta_) * loss;
      weight_ = beta_ * weight_ + (1 - beta_);
    }
    BatchRecord& record = pending_[i];
    const auto step = steps_.add(record.batch, controls[i], std::isfinite(loss));
    record.loss = record.lowest_loss = record.highest_loss = loss;
    record.smooth_loss = weight_ > 0 ? weighted_sum_ / weight_ : loss;
    record.loss_scale = controls[i].loss_scale;
    record.skipped = step && step->event != StepEvent::growth ? 1 : 0;
    set_norms(record, norms.span<float>().subspan(i * kNorms, kNorms), known_norms_[i]);
    batches_.add(record);
    for (const auto& weak : shared_with_)
      if (const auto to = weak.lock()) to->push_back(record);
  }
  pending_.clear();
  known_norms_.clear();
}

void Recorder::validate_begin(Learner& learn) {
  if (learn.progress().activity != Activity::fit) return;
  training_end_ = Clock::now();
  in_training_ = false;
}

namespace {

/// The metrics of an epoch: first those of its training pass, then those of its validation.
std::vector<std::pair<std::string, double>> metrics_of(const PassResults& results, bool validated) {
  auto all = results.train_metrics;
  if (validated) all.insert(all.end(), results.metrics.begin(), results.metrics.end());
  return all;
}

}  // namespace

void Recorder::validate_end(Learner& learn) {
  validated_ = learn.progress().activity == Activity::fit;
}

void Recorder::epoch_end(Learner& learn) {
  const FitProgress& fit = learn.progress();
  const PassResults& results = learn.results();
  const Clock::time_point now = Clock::now();
  if (in_training_) training_end_ = now;
  in_training_ = false;
  read_pending(learn);
  cut_seconds_ = seconds_between(epoch_begin_, now);
  finished_ = !fit.epoch_cut &&
              (learn.valid_source() != nullptr ? validated_ : fit.batch_in_pass == fit.batches);
  if (!finished_) return;
  const double training = seconds_between(epoch_begin_, training_end_);
  const std::vector<BatchRecord>& batches = batches_.records();
  epochs_.add(
      {.epoch = fit.epoch_clock,
       .train_loss = results.train_loss,
       .valid_loss = validated_ ? results.valid_loss : std::numeric_limits<double>::quiet_NaN(),
       .metrics = metrics_of(results, validated_),
       .lr = batches.empty() ? 0 : batches.back().lr,
       .seconds = seconds_between(epoch_begin_, now),
       .samples_per_second = training > 0 ? static_cast<double>(samples_) / training : 0,
       .skipped = results.skipped_steps,
       .loss_scale = steps_.loss_scale()});
}

void Recorder::train_end(Learner& learn) { read_pending(learn); }

const std::vector<BatchRecord>& Recorder::batches(Learner& learn) {
  read_pending(learn);
  return batches_.records();
}

const SkipHistory& Recorder::steps(Learner& learn) {
  read_pending(learn);
  return steps_;
}

double Recorder::mean_grad_norm(Learner& learn) {
  read_pending(learn);
  return grad_norm_.value();
}

double Recorder::mean_update_ratio(Learner& learn) {
  read_pending(learn);
  return update_ratio_.value();
}

void Recorder::visit_state(StateVisitor& visitor) {
  constexpr double kMaxSeconds = 1e9;
  visitor.visit("weighted_sum", weighted_sum_, kFiniteLimits);
  visitor.visit("weight", weight_, {.high = 1.01});  // it nears 1, and is rounded
  // A state may be saved in the middle of a pass that continues.
  if (!visitor.loading() && in_training_)
    cut_seconds_ = seconds_between(epoch_begin_, Clock::now());
  visitor.visit("cut_seconds", cut_seconds_, {.high = kMaxSeconds});
  visitor.visit("images", samples_, {});
  grad_norm_.visit_state(visitor, "grad_norm");
  update_ratio_.visit_state(visitor, "update_ratio");
  batches_.visit_state(visitor);
  steps_.visit_state(visitor);
  epochs_.visit_state(visitor);
  if (!visitor.loading()) return;
  pending_.clear();
  known_norms_.clear();
  finished_ = false;
  in_training_ = false;  // as an error may have left it
}

double Recorder::samples_per_second() const {
  const double seconds = seconds_between(epoch_begin_, in_training_ ? Clock::now() : training_end_);
  return seconds > 0 ? static_cast<double>(samples_) / seconds : 0;
}

Recorder& recorder_of(const Learner& learn, std::string_view user) {
  if (auto* recorder = learn.find<Recorder>()) return *recorder;
  fail<UsageError>("{} reads what the recorder keeps: add a Recorder to the learner", user);
}

}  // namespace learn
