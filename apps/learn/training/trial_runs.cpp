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
#include "framework/core/seconds_since.h"
#include "framework/learner/history/recorder.h"
#include "framework/terminal/text_table.h"
#include "framework/terminal/word_wrap.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace learn::cli {
namespace {

constexpr std::int64_t kDevRunBatches = 5;

/// Times the batches of a pass and ends it after enough of them. Ignores the first two, which touch
/// memory for the first time, choose algorithms and wait for starting workers.
class Stopwatch final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "stopwatch"; }
  [[nodiscard]] int order() const override { return order::kTracker; }
  void train_begin(Learner& learn) override { begin(learn); }
  void validate_begin(Learner& learn) override {
    if (learn.progress().activity == Activity::validate) begin(learn);
  }

  void batch_end(Learner& learn) override {
    constexpr std::int64_t kWarmUp = 2;
    constexpr double kEnough = 1;  // seconds
    const FitProgress& fit = learn.progress();
    if (fit.activity == Activity::fit && !fit.training) return;
    const std::int64_t warm_up = std::min(kWarmUp, fit.batches - 1);
    ++batches_;
    if (batches_ <= warm_up) return begin_clock(learn);
    samples_ += learn.batch().samples();
    learn.sync_step_clock();  // waits for the device
    seconds_ = seconds_since(begin_);
    if (seconds_ >= kEnough && !fit.gradients_held)
      learn.cancel(fit.training ? Scope::train : Scope::validate);
  }

  [[nodiscard]] std::int64_t batches() const noexcept { return batches_; }
  [[nodiscard]] double samples_per_second() const noexcept {
    return seconds_ > 0 ? static_cast<double>(samples_) / seconds_ : 0;
  }
  /// Times for this number of samples.
  [[nodiscard]] double seconds_for(double samples) const noexcept {
    return samples_ > 0 ? samples * seconds_ / static_cast<double>(samples_) : 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void begin(Learner& learn) {
    batches_ = samples_ = 0;
    seconds_ = 0;
    begin_clock(learn);
  }
  void begin_clock(Learner& learn) {
    learn.sync_step_clock();
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
  const auto epochs = static_cast<double>(std::exchange(options.training.epochs, 1));
  Experiment experiment(options);
  if (log::enabled(log::Level::info)) console::say(stderr, folded(experiment.headline(), stderr));
  Learner& learn = experiment.learner();
  auto& recorder = learn.add<Recorder>();
  auto& watch = learn.add<Stopwatch>();
  experiment.fit();
  const Stopwatch training = watch;
  learn.validate();
  const Stopwatch validation = watch;

  const data::DataPair& data = experiment.data();
  const double train_seconds =
      epochs * training.seconds_for(static_cast<double>(data.train.size()));
  const double valid_seconds =
      epochs * validation.seconds_for(static_cast<double>(data.valid.size()));
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
                        grouped(static_cast<std::int64_t>(validation.samples_per_second())))});
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
