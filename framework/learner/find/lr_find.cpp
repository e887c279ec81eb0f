#include "framework/learner/find/lr_find.h"

#include "framework/core/nan_sign.h"
#include "framework/learner/find/sandbox.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>

namespace learn {
namespace {

constexpr std::int64_t kFewest = 6;  // fastai's

/// Sets the rate of each update and records the loss. Waits for the device at each batch to decide
/// whether to continue.
class Sweep final : public Callback {
 public:
  Sweep(const LrFindOptions& options, const std::vector<float>& ratios)
      : options_(options), ratios_(ratios) {}
  [[nodiscard]] std::string_view name() const override { return "lr_find"; }
  [[nodiscard]] int order() const override { return order::kParamScheduler; }
  [[nodiscard]] std::vector<std::string> claims() const override { return {"set the lr"}; }
  void train_begin(Learner& learn) override;
  void batch_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void validate_begin(Learner& learn) override { learn.cancel(Scope::validate); }

  [[nodiscard]] LrFindResult take();

 private:
  void end(Learner& learn, LrFindEnd why);

  LrFindOptions options_;
  std::vector<float> ratios_;
  LrFindResult result_{.ended = LrFindEnd::interrupted};
  LossMeter losses_;  // of one update's batches
  double mean_ = 0;   // of the smoothed loss, not corrected
  double best_ = std::numeric_limits<double>::infinity();
  std::int64_t skipped_before_ = 0;
};

void Sweep::train_begin(Learner& learn) {
  skipped_before_ = learn.optimizer().read_control().skipped;
}

void Sweep::batch_begin(Learner& learn) {
  if (!learn.progress().training) return;
  const double done =
      static_cast<double>(result_.lrs.size()) / static_cast<double>(options_.iterations);
  const double lr = options_.start * std::pow(options_.end / options_.start, done);
  for (std::size_t group = 0; group < ratios_.size(); ++group)
    learn.optimizer().set_lr(static_cast<int>(group), static_cast<float>(lr) * ratios_[group]);
}

void Sweep::batch_end(Learner& learn) {
  const BatchRun& batch = learn.batch();
  if (!learn.progress().training || !batch.loss.defined() || batch.outcome == Outcome::cancelled)
    return;
  if (losses_.samples() == 0) losses_.begin(learn.progress().batches);
  losses_.add(learn.context(), batch);
  if (batch.outcome == Outcome::deferred) return;
  const double mean = losses_.mean(learn.context());
  losses_ = {};
  if (result_.lrs.empty() && !std::isfinite(mean))
    fail<DivergedError>(
        "lr_find: the loss is {} before the first update, so no rate can be found: check the data "
        "and the initial weights (first_non_finite finds the first bad value)",
        without_nan_sign(mean));
  result_.lrs.push_back(
      static_cast<double>(learn.optimizer().lr(learn.params().layer_groups() - 1)));
  result_.losses.push_back(mean);
  mean_ = kLrFindBeta * mean_ + (1 - kLrFindBeta) * mean;
  const auto count = static_cast<double>(result_.lrs.size());
  const double smooth = mean_ / (1 - std::pow(kLrFindBeta, count));
  result_.smoothed.push_back(smooth);
  result_.skipped = learn.optimizer().read_control().skipped - skipped_before_;
  best_ = std::min(best_, smooth);
  if (options_.stop && !std::isfinite(mean)) return end(learn, LrFindEnd::not_finite);
  if (options_.stop && smooth > kLrFindStop * best_) return end(learn, LrFindEnd::exploded);
  if (static_cast<std::int64_t>(result_.lrs.size()) >= options_.iterations)
    end(learn, LrFindEnd::done);
}

void Sweep::end(Learner& learn, LrFindEnd why) {
  result_.ended = why;
  learn.cancel(Scope::train);
}

LrFindResult Sweep::take() {
  result_.suggestions = suggest_lrs(result_.lrs, result_.smoothed, options_.iterations);
  return std::move(result_);
}

/// The rate of each layer group relative to the last one.
std::vector<float> ratios_of(const LearningRates& lrs, int groups) {
  std::vector<float> ratios = lrs.spread(groups);
  const float last = ratios.back();
  for (float& ratio : ratios) ratio = last > 0 ? ratio / last : 1.0F;
  return ratios;
}

}  // namespace

LrFindResult Learner::lr_find(const LrFindOptions& options) {
  require_idle("lr_find");
  if (!std::isfinite(options.end) || !(options.start > 0) || !(options.end > options.start))
    fail<UsageError>(
        "lr_find: rates from {} to {}: the first must be above 0, the last above the first",
        options.start,
        options.end);
  check<UsageError>(options.iterations >= kFewest,
                    "lr_find: {} iterations; at least {} are needed",
                    options.iterations,
                    kFewest);
  Sandbox sandbox(*this);
  optimizer_->set_lr_factor(1);
  const auto sweep =
      std::make_shared<Sweep>(options, ratios_of(options_.lr, params().layer_groups()));
  // Terminates, because each epoch makes at least one update, or training is impossible.
  fit(options.iterations, options_.lr, {sweep});
  sandbox.restore();
  return sweep->take();
}

std::string LrFindResult::why() const {
  const double last = lrs.empty() ? 0 : lrs.back();
  switch (ended) {
    case LrFindEnd::done:
      return fmt::format("all rates were tried, up to {:.3g}", last);
    case LrFindEnd::exploded:
      return fmt::format("the smoothed loss reached {} times its lowest value at a rate of {:.3g}",
                         kLrFindStop,
                         last);
    case LrFindEnd::not_finite:
      return fmt::format("the loss was no longer finite at a rate of {:.3g}", last);
    case LrFindEnd::interrupted:
      return fmt::format("it was interrupted at a rate of {:.3g}", last);
  }
  return "?";
}

std::string LrFindResult::doubt() const {
  // A smaller fall may be chance, unless the loss rises afterwards: then the sweep has found the
  // end of learning, which matters more to the rules than the depth. (NaN counts as the largest
  // value.)
  constexpr double kFall = 0.03, kRise = 1.25, kFallBeforeRise = 0.003;
  constexpr std::ptrdiff_t kUnseen = 5;  // updates at the end, which the rules leave out
  if (ended == LrFindEnd::interrupted) return "the sweep was interrupted";
  const auto lowest = std::min_element(smoothed.begin(), smoothed.end());
  const bool rose =
      ended != LrFindEnd::done || (!smoothed.empty() && !(smoothed.back() <= kRise * *lowest));
  if (suggestions.fall < (rose ? kFallBeforeRise : kFall))
    return fmt::format("the loss fell by at most {:.1f} % before the last five updates",
                       100 * suggestions.fall);
  if (!rose && smoothed.end() - lowest <= kUnseen)
    return "the loss was still falling at the last rates";
  return "";
}

}  // namespace learn
