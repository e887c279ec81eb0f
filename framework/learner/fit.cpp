// The ways to train: a plain fit, the policies that schedule it, and the callbacks of a fit.
#include "framework/learner/learner.h"
#include "framework/learner/param_scheduler.h"

#include <set>
#include <utility>

namespace learn {

namespace schedules = optim::schedules;

/// Adds callbacks to the learner for its own lifetime. The arrays they created in the store are
/// dropped with them, or, after `keep_states`, after the next fit.
class Learner::Joined {
 public:
  Joined(Learner& learn, const FitCallbacks& callbacks) : learn_(learn) {
    const std::set<std::string> before = names_of_states();
    try {
      // All are accepted before one of them makes something.
      for (const FitCallback& one : callbacks)
        joined_.push_back(&learn_.callbacks_.insert(one.callback, one.events));
      for (Callback* const callback : joined_) callback->attached(learn_);
    } catch (...) {
      note_states(before);
      part();
      throw;
    }
    note_states(before);
  }
  ~Joined() { part(); }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

  void keep_states() noexcept { keeps_states_ = true; }

 private:
  [[nodiscard]] std::set<std::string> names_of_states() const {
    std::set<std::string> names;
    for (const auto& [name, state] : learn_.params().states()) names.insert(name);
    return names;
  }
  void note_states(const std::set<std::string>& before) {
    for (const std::string& name : names_of_states())
      if (!before.contains(name)) learn_.state_.fit_states.push_back(name);
  }
  void part() {
    for (const Callback* const callback : joined_) learn_.callbacks_.remove(*callback);
    if (keeps_states_) return;
    for (const std::string& name : std::exchange(learn_.state_.fit_states, {}))
      learn_.params().states().erase(name);
  }

  Learner& learn_;
  std::vector<Callback*> joined_;
  bool keeps_states_ = false;
};

void Learner::check_announced(std::int64_t epochs) const {
  const std::int64_t batches = train_source().batches();
  const std::int64_t samples = train_source().samples();
  if (batches <= 0) fail<UsageError>("fit: the training source has no batches");
  if (samples < 0)
    fail<UsageError>("fit: the training source announced {} samples; the count cannot be negative",
                     samples);
  if (std::int64_t all = 0; __builtin_mul_overflow(batches, epochs, &all))
    fail<UsageError>("fit: {} epochs of {} batches are too many to count", epochs, batches);
}

void Learner::fit(std::int64_t epochs, const LearningRates& lrs, const FitCallbacks& callbacks) {
  require_idle("fit");
  if (epochs < 0) fail<UsageError>("fit: {} epochs; the count cannot be negative", epochs);
  check_announced(epochs);
  const Joined joined(*this, callbacks);
  optimizer_->set_lrs(lrs);
  run_activity(Activity::fit, [&] { train(epochs); });
}

void Learner::fit_one_cycle(std::int64_t epochs,
                            const LearningRates& lr_max,
                            const OneCycleOptions& options,
                            FitCallbacks callbacks) {
  const auto one_cycle = [&](double lr) { return schedules::one_cycle(lr, options); };
  callbacks.emplace_back(std::make_shared<ParamScheduler>(
      scheduled(lr_max, params().layer_groups(), one_cycle), Clock::batch, "one_cycle"));
  fit(epochs, lr_max, callbacks);
}

void Learner::fit_flat_cos(std::int64_t epochs,
                           const LearningRates& lrs,
                           double div_final,
                           double pct_start,
                           FitCallbacks callbacks) {
  const auto flat_cos = [&](double lr) {
    return optim::Course{.lr = schedules::flat_cosine(lr, pct_start, div_final), .momentum = {}};
  };
  callbacks.emplace_back(std::make_shared<ParamScheduler>(
      scheduled(lrs, params().layer_groups(), flat_cos), Clock::batch, "flat_cos"));
  fit(epochs, lrs, callbacks);
}

void Learner::fit_sgdr(const LearningRates& lr_max,
                       const SgdrShape& shape,
                       FitCallbacks callbacks) {
  const std::int64_t epochs = schedules::sgdr_epochs(shape);
  const auto cycles = [&](double lr) {
    return optim::Course{.lr = schedules::sgdr(lr, 0, shape), .momentum = {}};
  };
  callbacks.emplace_back(std::make_shared<ParamScheduler>(
      scheduled(lr_max, params().layer_groups(), cycles), Clock::batch, "sgdr"));
  fit(epochs, lr_max, callbacks);
}

void Learner::fine_tune(std::int64_t epochs,
                        double base_lr,
                        const FineTuneOptions& options,
                        const FitCallbacks& callbacks) {
  require_idle("fine_tune");
  if (params().layer_groups() == 1) split(model_.split);
  check<UsageError>(params().layer_groups() > 1,
                    "fine_tune: the model has one layer group, so it has no head to train first; "
                    "divide it with split({{\"NAME\"}}), where the module NAME starts the head");
  check<UsageError>(
      options.lr_mult > 0, "fine_tune: lr_mult must be positive, not {}", options.lr_mult);
  freeze();
  fit_one_cycle(options.freeze_epochs, optim::last_group(base_lr), {.pct_start = 0.99}, callbacks);
  unfreeze();
  const double lr = base_lr / 2;
  fit_one_cycle(epochs,
                range(lr / options.lr_mult, lr),
                {.pct_start = options.pct_start, .div = options.div},
                callbacks);
}

void Learner::visit_state(StateVisitor& visitor, const FitCallbacks& of_fit) {
  if (of_fit.empty()) return visit_all(visitor);  // from a handler, too
  require_idle("visit_state");
  Joined joined(*this, of_fit);
  visit_all(visitor);
  if (visitor.loading()) joined.keep_states();
}

}  // namespace learn
