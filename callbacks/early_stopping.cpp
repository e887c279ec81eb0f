#include "callbacks/early_stopping.h"

#include "callbacks/registry.h"
#include "framework/core/log.h"
#include "framework/learner/learner.h"

namespace learn::callbacks {

EarlyStopping::EarlyStopping(const EarlyStoppingOptions& options)
    : monitor_(options.monitor, options.better, options.min_delta), patience_(options.patience) {
  check<UsageError>(
      patience_ >= 1, "early_stopping: patience must be at least 1, got {}", patience_);
}

void EarlyStopping::visit_state(StateVisitor& visitor) {
  visitor.visit("waited", waited_, {});
  monitor_.visit_state(visitor);
}

void EarlyStopping::train_begin(Learner& learn) {
  monitor_.check_known(learn);
  if (learn.progress().resumed) {
    if (waited_ >= patience_) learn.cancel(Scope::train);  // it had stopped the training
    return;
  }
  monitor_.reset();
  waited_ = 0;
}

void EarlyStopping::epoch_end(Learner& learn) {
  if (learn.progress().epoch_cut) return;  // the epoch is incomplete
  if (monitor_.improves(monitor_.value(learn))) {
    waited_ = 0;
    return;
  }
  if (++waited_ < patience_) return;
  log::info("[early_stopping] {} has not improved for {} epochs: training ends",
            monitor_.name(),
            waited_);
  learn.cancel(Scope::train);
}

void register_early_stopping(CallbackRegistry& registry) {
  struct Options {
    EarlyStoppingOptions stopping;
    std::optional<std::string> monitor;
  };
  registry.add(
      "early_stopping",
      "stops training when a value no longer improves",
      Options{},
      [](OptionTable& t, Options& o) {
        t.text("monitor", o.monitor, "VALUE", "value to watch").when_absent = "that of the run";
        t.number("patience",
                 o.stopping.patience,
                 kCount,
                 "N",
                 "epochs without improvement before it stops");
        t.number("min_delta",
                 o.stopping.min_delta,
                 kNotNegative,
                 "X",
                 "smallest change that counts as an improvement");
        t.choice("mode", o.stopping.better, better_by_name(), "whether lower or higher is better");
      },
      [](const Options& o, const RunSettings& run) {
        EarlyStoppingOptions stopping = o.stopping;
        stopping.monitor = o.monitor.value_or(run.monitor);
        return make_callback<EarlyStopping>(Role::trains, stopping);
      });
}

}  // namespace learn::callbacks
