#include "apps/learn/training/trial_runs.h"

#include "apps/experiment/experiment.h"
#include "apps/experiment/reporting.h"
#include "apps/learn/common/signals.h"
#include "apps/learn/training/ending.h"
#include "callbacks/diagnose/param_audit.h"
#include "callbacks/interrupt.h"
#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/core/nan_sign.h"
#include "framework/core/round_up.h"
#include "framework/core/seconds_since.h"
#include "framework/learner/history/recorder.h"
#include "framework/runtime/device_choice.h"
#include "framework/terminal/text_table.h"
#include "framework/terminal/word_wrap.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace learn::cli {
namespace {

constexpr std::int64_t kDevRunBatches = 5;
constexpr std::int64_t kDryRunBatches = 20;  // of a pass: several passes are timed

/// Loads only the samples that this number of batches of each part needs. Balanced class weights
/// need all classes, and thus all samples.
void load_batches(std::int64_t batches, ExperimentOptions& options) {
  if (options.training.class_weights.empty())
    options.data.at_most = batches * options.training.batch_size;
}

/// Times batches and ends the training or validation after enough of them. Ignores the first two of
/// a pass, which touch memory for the first time, choose algorithms and wait for starting workers.
class Stopwatch final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "stopwatch"; }
  [[nodiscard]] int order() const override { return order::kTracker; }
  void epoch_begin(Learner& learn) override { begin_clock(learn); }
  void validate_begin(Learner& learn) override { begin_clock(learn); }

  void batch_end(Learner& learn) override {
    constexpr std::int64_t kWarmUp = 2;
    const FitProgress& fit = learn.progress();
    if (fit.activity == Activity::fit && !fit.training) return;
    ++batches_;
    if (fit.batch_in_pass < std::min(kWarmUp, fit.batches - 1)) return begin_clock(learn);
    samples_ += learn.batch().samples();
    const Clock::time_point before = begin_;
    begin_clock(learn);
    seconds_ += std::chrono::duration<double>(begin_ - before).count();
    if (enough() && !fit.gradients_held)
      learn.cancel(fit.training ? Scope::train : Scope::validate);
  }

  /// Starts again, for a measurement of something else.
  void reset() {
    batches_ = samples_ = 0;
    seconds_ = 0;
  }
  [[nodiscard]] bool enough() const noexcept { return seconds_ >= 1; }
  [[nodiscard]] std::int64_t batches() const noexcept { return batches_; }
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }
  [[nodiscard]] double samples_per_second() const noexcept {
    return seconds_ > 0 ? static_cast<double>(samples_) / seconds_ : 0;
  }
  /// Times for this number of samples.
  [[nodiscard]] double seconds_for(std::int64_t samples) const noexcept {
    return samples_ > 0 ? static_cast<double>(samples) * seconds_ / static_cast<double>(samples_)
                        : 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void begin_clock(Learner& learn) {
    learn.sync_step_clock();  // waits for the device
    begin_ = Clock::now();
  }

  std::int64_t batches_ = 0;
  std::int64_t samples_ = 0;
  double seconds_ = 0;
  Clock::time_point begin_;
};

std::string mebibytes(std::size_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

}  // namespace

int dry_run(ExperimentOptions options) {
  const auto epochs = static_cast<double>(options.training.epochs);
  // On a GPU the memory of the whole set is measured.
  if (choose_device(options.device.device).is_cpu()) load_batches(kDryRunBatches, options);
  Experiment experiment(options);
  if (log::enabled(log::Level::info)) console::say(stderr, folded(experiment.headline(), stderr));
  Learner& learn = experiment.learner();
  auto& recorder = learn.add<Recorder>();
  auto& watch = learn.add<Stopwatch>();
  const data::DataPair& data = experiment.data();
  const std::int64_t train_size = options.data.train_size(data);
  const std::int64_t valid_size = options.data.valid_size(data);
  // At most as many passes as make one epoch of all samples.
  learn.fit(ceil_div(train_size, data.train.size()));
  const Stopwatch training = watch;
  watch.reset();
  do {
    learn.validate();
  } while (!watch.enough() && watch.samples() < valid_size);

  const double train_seconds = epochs * training.seconds_for(train_size);
  const double valid_seconds = epochs * watch.seconds_for(valid_size);
  TextTable plan({{"dry run"}, {""}});
  plan.row({"memory",
            mebibytes(experiment.context().persistent().stats().peak) +
                " parameters, state and data, " +
                mebibytes(experiment.context().step().stats().peak) + " activations"});
  plan.row({"loss",
            fmt::format("{:.4f} after {} batches",
                        without_nan_sign(recorder.batches(learn).back().smooth_loss),
                        training.batches())});
  plan.row({"speed",
            fmt::format("{} samples/s training, {} validation",
                        grouped(static_cast<std::int64_t>(training.samples_per_second())),
                        grouped(static_cast<std::int64_t>(watch.samples_per_second())))});
  plan.row({"time",
            fmt::format("about {} for {:.0f} epochs: {} training, {} validation",
                        clock_text(train_seconds + valid_seconds),
                        epochs,
                        clock_text(train_seconds),
                        clock_text(valid_seconds))});
  console::print(plan.to_string());
  return 0;
}

int fast_dev_run(ExperimentOptions options) {
  options.training.epochs = 1;
  options.run.on_nan = OnNan::stop;
  load_batches(kDevRunBatches, options);
  Experiment experiment(options, kDevRunBatches);
  if (log::enabled(log::Level::info)) console::say(stderr, folded(experiment.headline(), stderr));
  add_progress(experiment.learner(), options.run);
  experiment.learner().add<callbacks::Interrupt>(caught_signal());
  catch_signals();
  experiment.fit();
  const Ending ending = ending_of(experiment.learner());
  if (!ending.error.empty())
    console::say(stderr, fmt::format("{}: {}", ending.status, ending.error));
  return ending.exit_code;
}

int show_params(ExperimentOptions options) {
  options.data.leave_out_validation();
  Experiment experiment(std::move(options));
  if (log::enabled(log::Level::info)) console::say(stderr, folded(experiment.headline(), stderr));
  console::print(callbacks::audit_params(experiment.learner()).to_string());
  return 0;
}

}  // namespace learn::cli
