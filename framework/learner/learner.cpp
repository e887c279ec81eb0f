#include "framework/learner/learner.h"

#include "framework/optim/sgd.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace learn {

Learner::Learner(
    Context& ctx, Model model, BatchSource& train, BatchSource* valid, LearnerOptions options)
    : ctx_(ctx),
      model_(std::move(model)),
      train_(train),
      valid_(valid),
      options_(std::move(options)),
      tape_(ctx),
      runner_(std::make_unique<EagerStep>()) {
  check<UsageError>(model_.params != nullptr && model_.module != nullptr,
                    "the learner was given a model without parameters or without a module");
  if (!model_.params->materialized()) model_.params->materialize(ctx_);
  if (!options_.optimizer) options_.optimizer = optim::sgd({.momentum = 0.9F});
  optimizer_ = options_.optimizer(params());
}

Learner::~Learner() = default;

void Learner::check_conflicts(const Callback& added) const {
  for (const Slot& slot : slots_) {
    const std::vector<std::string> theirs = slot.callback->claims();
    for (const std::string& claim : added.claims())
      if (std::find(theirs.begin(), theirs.end(), claim) != theirs.end())
        fail<UsageError>("callbacks '{}' and '{}' both {}: remove one of them",
                         slot.callback->name(),
                         added.name(),
                         claim);
  }
}

void Learner::insert(std::unique_ptr<Callback> callback, EventSet events) {
  require_idle("add");
  check<UsageError>(callback != nullptr, "a null callback was added");
  check_conflicts(*callback);
  const auto before = [](int order, const Slot& slot) { return order < slot.callback->order(); };
  const auto at = std::upper_bound(slots_.begin(), slots_.end(), callback->order(), before);
  Callback& added = *slots_.insert(at, Slot{std::move(callback), events})->callback;
  added.attached(*this);
}

void Learner::remove(const Callback& callback) {
  require_idle("remove");
  const auto at = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.callback.get() == &callback;
  });
  if (at == slots_.end())
    fail<UsageError>("a callback was removed that this learner does not have");
  slots_.erase(at);
}

void Learner::split(const std::vector<std::string>& boundaries) {
  require_idle("split");
  params().set_layer_groups(boundaries);
  optimizer_->groups_changed();
}

void Learner::freeze_to(int layer_group) {
  require_idle("freeze_to");
  params().freeze_to(layer_group);
}

void Learner::sync_step_clock() { state_.step_clock = optimizer_->read_control().step; }

std::vector<double> Learner::captured_options() const {
  std::vector<double> options{static_cast<double>(step_changes_)};
  for (std::int64_t i = 0; i < params().size(); ++i)
    options.push_back(params().slot(i).trainable ? 1 : 0);
  const auto append = [&](const std::vector<double>& own) {
    options.push_back(static_cast<double>(own.size()));
    options.insert(options.end(), own.begin(), own.end());
  };
  append(optimizer().captured_options());
  for (const Slot& slot : slots_) append(slot.callback->captured_options());
  return options;
}

void Learner::set_step_runner(std::unique_ptr<StepRunner> runner) {
  check<UsageError>(runner != nullptr, "set_step_runner: null");
  runner_ = std::move(runner);
}

}  // namespace learn
