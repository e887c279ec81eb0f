#include "framework/learner/find/batch_size_find.h"

#include "framework/core/seconds_since.h"
#include "framework/learner/find/sandbox.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace learn {
namespace {

/// Times steps, then ends the training. The first steps touch memory for the first time, choose
/// algorithms and wait for workers to start.
class StepTimer final : public Callback {
 public:
  explicit StepTimer(std::int64_t steps) : steps_(steps), windows_(std::min(steps, kWindows)) {}
  [[nodiscard]] std::string_view name() const override { return "batch_size_find"; }
  [[nodiscard]] int order() const override { return order::kRecorder; }
  [[nodiscard]] bool runs_in_sandbox() const override { return true; }
  void batch_end(Learner& learn) override {
    constexpr std::int64_t kWarmUp = 2;
    if (++batches_ > kWarmUp) samples_ += learn.batch().samples();
    if (batches_ == kWarmUp) {
      learn.sync_step_clock();  // waits for the device
      begin_ = Clock::now();
    }
    const std::int64_t timed = batches_ - kWarmUp;
    const auto window = static_cast<std::int64_t>(window_seconds_.size());
    if (timed < (window + 1) * steps_ / windows_) return;
    learn.sync_step_clock();
    const double seconds = seconds_since(begin_);
    const std::int64_t in_window = timed - window * steps_ / windows_;
    window_seconds_.push_back((seconds - seconds_.value_or(0)) / static_cast<double>(in_window));
    seconds_ = seconds;
    if (timed == steps_) learn.cancel(Scope::train);
  }
  void validate_begin(Learner& learn) override { learn.cancel(Scope::validate); }

  /// Nothing if the training was ended before.
  [[nodiscard]] std::optional<double> seconds() const {
    return static_cast<std::int64_t>(window_seconds_.size()) == windows_ ? seconds_ : std::nullopt;
  }
  /// Computes them from the timings of a step, one for each window.
  [[nodiscard]] double spread() const {
    const auto [fastest, slowest] = std::ranges::minmax(window_seconds_);
    return slowest / fastest - 1;
  }
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kWindows = 3;
  std::int64_t steps_;
  std::int64_t windows_;
  std::vector<double> window_seconds_;  // of a step
  std::int64_t batches_ = 0;
  std::int64_t samples_ = 0;
  Clock::time_point begin_;
  std::optional<double> seconds_;
};

/// Nothing if it was interrupted. Throws OutOfMemoryError.
std::optional<BatchSizeTrial> trial(Learner& learn,
                                    BatchSource& source,
                                    std::int64_t batch_size,
                                    std::int64_t steps) {
  // Its own, so that its peak is this size's and a size that did not fit leaves no holes.
  const std::unique_ptr<Arena> arena = learn.context().make_step_arena("batch size finder");
  const StepArenaScope scope(learn.context(), *arena);
  Sandbox sandbox(learn);
  learn.set_data(source);
  const auto timer = std::make_shared<StepTimer>(steps);
  // Each epoch has a batch at least: the timer ends it.
  learn.fit(steps + 2, learn.options().lr, {timer});
  sandbox.restore();
  if (!timer->seconds()) return {};
  const double seconds = *timer->seconds();
  return BatchSizeTrial{.batch_size = batch_size,
                        .step_seconds = seconds / static_cast<double>(steps),
                        .samples_per_second = static_cast<double>(timer->samples()) / seconds,
                        .spread = timer->spread(),
                        .bytes = arena->stats().peak};
}

}  // namespace

BatchSizeFindResult Learner::batch_size_find(const BatchSourceOfSize& make_source,
                                             const BatchSizeFindOptions& options) {
  require_idle("batch_size_find");
  check<UsageError>(
      exchange() == nullptr,
      "batch_size_find measures one process: run it without other ranks, and multiply "
      "the size that it finds by their number");
  if (options.smallest <= 0 || options.largest < options.smallest)
    fail<UsageError>(
        "batch_size_find: sizes from {} to {}: the first must be above 0, the last not below it",
        options.smallest,
        options.largest);
  check<UsageError>(options.steps > 0,
                    "batch_size_find: {} steps to time; at least one is needed",
                    options.steps);
  const std::int64_t samples = train_source().samples();
  BatchSizeFindResult found;
  const auto end = [&](BatchSizeFindEnd why, std::int64_t refused = 0) {
    found.ended = why;
    found.refused = refused;
    return found;
  };
  for (std::int64_t size = options.smallest; size <= options.largest; size *= 2) {
    if (size > samples) return end(BatchSizeFindEnd::samples);
    // Twice the samples need at most twice the memory.
    if (options.memory > 0 && !found.trials.empty() &&
        found.trials.back().bytes > options.memory / 2)
      return end(BatchSizeFindEnd::memory, size);
    try {
      const std::unique_ptr<BatchSource> source = make_source(size);
      const auto tried = trial(*this, *source, size, options.steps);
      if (!tried) return end(BatchSizeFindEnd::interrupted);
      found.trials.push_back(*tried);
    } catch (const OutOfMemoryError&) {
      return end(BatchSizeFindEnd::memory, size);
    }
  }
  return found;
}

const BatchSizeTrial* BatchSizeFindResult::suggested() const {
  double best = 0;
  for (const BatchSizeTrial& one : trials) best = std::max(best, one.samples_per_second);
  for (const BatchSizeTrial& one : trials)
    if (one.samples_per_second >= kAsFast * best) return &one;
  return nullptr;
}

double BatchSizeFindResult::noise() const {
  double noise = 0;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    noise = std::max(noise, trials[i].spread);
    if (i == 0 || i + 1 == trials.size()) continue;
    const double beside =
        std::min(trials[i - 1].samples_per_second, trials[i + 1].samples_per_second);
    noise = std::max(noise, beside / trials[i].samples_per_second - 1);
  }
  return noise;
}

std::string BatchSizeFindResult::why() const {
  const std::int64_t last = trials.empty() ? 0 : trials.back().batch_size;
  switch (ended) {
    case BatchSizeFindEnd::done:
      return fmt::format("all sizes up to {} fit in memory", last);
    case BatchSizeFindEnd::samples:
      return "no more samples for a larger batch";
    case BatchSizeFindEnd::memory:
      return fmt::format("a batch of {} does not fit in memory", refused);
    case BatchSizeFindEnd::interrupted:
      return "it was interrupted";
  }
  return "?";
}

}  // namespace learn
