#include "framework/learner/recorder.h"

#include "framework/kernels/cast/cast.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"

#include <cmath>
#include <limits>

namespace learn {
namespace {

constexpr std::int64_t kPending = 256;  // losses kept on the device before they must be read

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Recorder::Recorder(double beta) : beta_(beta) {
  check<UsageError>(beta >= 0 && beta < 1, "recorder: beta must be in [0,1), got {}", beta);
}

void Recorder::train_begin(Learner& learn) {
  if (!pending_losses_.defined())
    pending_losses_ = Tensor(learn.context().persistent(), {kPending}, DType::f32);
}

void Recorder::epoch_begin(Learner& learn) {
  const FitProgress& fit = learn.progress();
  const bool goes_on = fit.batch_clock > fit.epoch_first_batch;
  if (!goes_on) cut_seconds_ = 0;
  if (!goes_on) samples_ = 0;
  epoch_begin_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(cut_seconds_));
  in_training_ = true;
  validated_ = false;
  finished_ = false;
}

void Recorder::batch_end(Learner& learn) {
  const FitProgress& fit = learn.progress();
  if (!fit.training || fit.activity != Activity::fit) return;
  if (learn.batch().outcome == Outcome::cancelled) return;
  samples_ += learn.batch().size();
  if (!learn.batch().loss.defined()) return;  // skipped before there was one
  if (static_cast<std::int64_t>(pending_.size()) == kPending) read_losses(learn);
  Tensor slot = pending_losses_.range(static_cast<std::int64_t>(pending_.size()), 1);
  kernels::cast(learn.context(), learn.batch().loss.value().view({1}), slot);
  const int last_group = learn.params().layer_groups() - 1;
  const double position =
      static_cast<double>(fit.batch_in_pass + 1) / static_cast<double>(fit.batches);
  pending_.push_back(
      {.batch = fit.batch_clock,
       .epoch = static_cast<double>(fit.epoch_clock) + position,
       .lr = learn.optimizer().lr(last_group),
       .momentum = learn.optimizer().hypers(nn::index_of({last_group, true})).momentum});
  // Nothing is won by waiting where memory is shared, and the loss scale is then exact.
  if (learn.context().device().is_cpu()) read_losses(learn);
}

void Recorder::read_losses(Learner& learn) {
  if (pending_.empty()) return;
  const auto count = static_cast<std::int64_t>(pending_.size());
  const Tensor host = to_host(learn.context(), pending_losses_.range(0, count));
  const float scale = learn.optimizer().read_control().loss_scale;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const auto loss = static_cast<double>(host.span<float>()[i]);
    if (std::isfinite(loss)) {  // one bad batch must not blind the rest of the run
      weighted_sum_ = beta_ * weighted_sum_ + (1 - beta_) * loss;
      weight_ = beta_ * weight_ + (1 - beta_);
    }
    BatchRecord& record = pending_[i];
    record.loss = record.lowest_loss = record.highest_loss = loss;
    record.smooth_loss = weight_ > 0 ? weighted_sum_ / weight_ : loss;
    record.loss_scale = scale;
    batches_.add(record);
  }
  pending_.clear();
}

void Recorder::validate_begin(Learner& learn) {
  if (learn.progress().activity != Activity::fit) return;
  training_end_ = Clock::now();
  in_training_ = false;
}

void Recorder::validate_end(Learner& learn) {
  validated_ = learn.progress().activity == Activity::fit;
}

void Recorder::epoch_end(Learner& learn) {
  const FitProgress& fit = learn.progress();
  const PassResults& results = learn.results();
  const Clock::time_point now = Clock::now();
  if (in_training_) training_end_ = now;
  in_training_ = false;
  read_losses(learn);
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
       .metrics = validated_ ? results.metrics : decltype(EpochRecord::metrics){},
       .lr = batches.empty() ? 0 : batches.back().lr,
       .seconds = seconds_between(epoch_begin_, now),
       .samples_per_second = training > 0 ? static_cast<double>(samples_) / training : 0});
}

void Recorder::train_end(Learner& learn) { read_losses(learn); }

const std::vector<BatchRecord>& Recorder::batches(Learner& learn) {
  read_losses(learn);
  return batches_.records();
}

void Recorder::visit_state(StateVisitor& visitor) {
  constexpr double kMaxSeconds = 1e9;
  visitor.visit("weighted_sum", weighted_sum_, kFiniteLimits);
  visitor.visit("weight", weight_, {.high = 1.01});  // it nears 1, and is rounded
  // A state may be saved in the middle of a pass that is not cut.
  if (!visitor.loading() && in_training_)
    cut_seconds_ = seconds_between(epoch_begin_, Clock::now());
  visitor.visit("cut_seconds", cut_seconds_, {.high = kMaxSeconds});
  visitor.visit("images", samples_, {});
  batches_.visit_state(visitor);
  epochs_.visit_state(visitor);
  if (!visitor.loading()) return;
  pending_.clear();
  finished_ = false;
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
