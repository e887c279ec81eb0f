#include "callbacks/checkpointer.h"

#include "callbacks/ema.h"
#include "callbacks/registry.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/core/log.h"
#include "framework/io/checkpoint.h"
#include "framework/io/file_system.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"

#include <cmath>

namespace learn::callbacks {

Checkpointer::Checkpointer(CheckpointerOptions options)
    : options_(std::move(options)),
      monitor_(options_.monitor, options_.better, options_.min_delta) {
  check<UsageError>(
      options_.every >= 0, "checkpointer: every must not be negative, got {}", options_.every);
}

std::vector<std::string> Checkpointer::claims() const {
  return {fmt::format("write checkpoints into '{}'", options_.folder.lexically_normal().string())};
}

void Checkpointer::visit_state(StateVisitor& visitor) {
  monitor_.visit_state(visitor);
  const std::int64_t some = monitor_.best() ? 1 : 0;
  visitor.visit("best_epoch", best_epoch_, {.low = some, .high = some * IntegerLimits::kMax});
}

void Checkpointer::train_begin(Learner& learn) {
  (void)recorder_of(learn, name());
  if (options_.best) monitor_.check_known(learn);
  make_folders(options_.folder);
  saved_batch_ = learn.progress().batch_clock;
}

/// Returns whether the training has diverged, because a diverged state must not replace a good one.
bool Checkpointer::diverged(const Learner& learn) {
  const auto* const guard = learn.find<TerminateOnNan>();
  return guard != nullptr && guard->terminated();
}

void Checkpointer::epoch_end(Learner& learn) {
  const EpochRecord* const record = recorder_of(learn, name()).finished_epoch();
  if (diverged(learn)) return;
  if (record == nullptr) {
    // Not at train_end, where schedules have already restored their values.
    if (learn.progress().epoch_cut) save_rest(learn);
    return;
  }
  const std::int64_t epoch = learn.progress().epoch_clock;
  const bool finite = learn.valid_source() == nullptr || std::isfinite(record->valid_loss);
  if (options_.best && finite && monitor_.improves(monitor_.value(learn))) {
    best_epoch_ = epoch;
    save_best(learn);
  }
  if (options_.every > 0 && epoch % options_.every == 0)
    save_state_as(learn, fmt::format("epoch-{:04}", epoch));
  if (options_.last) save_last(learn);
}

void Checkpointer::train_end(Learner& learn) {
  if (diverged(learn)) {
    const std::filesystem::path last = path("last");
    log::warn("[checkpointer] the diverged state is not saved; {}",
              std::filesystem::exists(last)
                  ? fmt::format("'{}' contains the previous state", last.string())
                  : "a previous state does not exist");
    return;
  }
  save_rest(learn);
}

void Checkpointer::save_rest(Learner& learn) {
  if (options_.last && learn.progress().batch_clock != saved_batch_) save_last(learn);
}

std::filesystem::path Checkpointer::save_last(Learner& learn) {
  save_state_as(learn, "last", "last.prev");
  saved_batch_ = learn.progress().batch_clock;
  return path("last");
}

Metadata Checkpointer::metadata(const Learner& learn) const {
  Metadata out = options_.metadata;
  out["learn.epoch"] = std::to_string(learn.progress().epoch_clock);
  out["learn.step"] = std::to_string(learn.progress().step_clock);
  if (monitor_.best())
    out["learn.best"] =
        fmt::format("{} {} at epoch {}", monitor_.name(), *monitor_.best(), best_epoch_);
  return out;
}

/// Saves the weights that validation measured: the averaged ones, if the model held those.
void Checkpointer::save_best(Learner& learn) {
  auto* const ema = learn.find<Ema>();
  const bool averaged = ema != nullptr && ema->evaluates();
  if (averaged) ema->show(learn);
  save_weights(path("best"), learn.params(), metadata(learn));
  if (averaged) ema->hide(learn);
}

void Checkpointer::save_state_as(Learner& learn,
                                 const std::string& file,
                                 const std::string& previous) {
  save_state(
      path(file),
      [&](StateVisitor& visitor) { learn.visit_state(visitor); },
      metadata(learn),
      previous.empty() ? std::filesystem::path() : path(previous));
}

void register_checkpointer(CallbackRegistry& registry) {
  struct Options {
    CheckpointerOptions checkpoints{.folder = "weights"};
    std::optional<std::string> monitor;
  };
  registry.add(
      "checkpointer",
      "saves checkpoints at the end of epochs",
      Options{},
      [](OptionTable& t, Options& o) {
        CheckpointerOptions& c = o.checkpoints;
        t.text("folder", c.folder, "DIR", "relative to the folder of the run");
        t.flag("last", c.last, "last.safetensors: the full state, every epoch");
        t.flag("best", c.best, "best.safetensors: the weights of the best epoch");
        t.number("every",
                 c.every,
                 kNotNegative,
                 "N",
                 "also keep the full state every N epochs; 0: never");
        t.text("monitor", o.monitor, "VALUE", "value that makes an epoch the best").when_absent =
            "that of the run";
        t.choice("mode", c.better, better_by_name(), "whether lower or higher is better");
        t.number("min_delta",
                 c.min_delta,
                 kNotNegative,
                 "X",
                 "smallest change that counts as an improvement");
      },
      [](const Options& o, const RunSettings& run) {
        CheckpointerOptions out = o.checkpoints;
        out.folder = run.folder / out.folder;
        out.monitor = o.monitor.value_or(run.monitor);
        out.metadata = run.metadata;
        return make_callback<Checkpointer>(Role::reports, std::move(out));
      });
}

}  // namespace learn::callbacks
