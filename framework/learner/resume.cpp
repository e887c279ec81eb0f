// The state of a training, and how a fit goes on from it.
#include "framework/learner/learner.h"
#include "framework/learner/through_host.h"

#include <fmt/core.h>

#include <cstring>
#include <map>
#include <utility>

namespace learn {
namespace {

/// Hyper-parameters of all groups as rows of f32.
Tensor as_table(const std::vector<GroupHypers>& hypers) {
  constexpr auto kColumns = static_cast<std::int64_t>(sizeof(GroupHypers) / sizeof(float));
  static_assert(sizeof(GroupHypers) == kColumns * sizeof(float), "rows of f32");
  Arena host("hypers", cpu_pages());
  Tensor table(host, {static_cast<std::int64_t>(hypers.size()), kColumns}, DType::f32);
  std::memcpy(table.raw(), hypers.data(), table.bytes());
  return table;
}

}  // namespace

void Learner::visit_state(StateVisitor& asking) {
  ThroughHost visitor(ctx_, asking);
  {
    const StateVisitor::Scope model(visitor, "model");
    params().visit_state(visitor);
  }
  {
    const StateVisitor::Scope optimizer(visitor, "optimizer");
    optimizer_->visit_state(visitor);
  }
  {
    const StateVisitor::Scope clocks(visitor, "clocks");
    visitor.visit("batch", state_.batch_clock);
    visitor.visit("epoch", state_.epoch_clock);
  }
  {
    const StateVisitor::Scope data(visitor, "data");
    train_.visit_state(visitor);
  }
  {
    const StateVisitor::Scope fit(visitor, "fit");
    visit_fit(visitor);
  }
  const StateVisitor::Scope callbacks(visitor, "callbacks");
  std::map<std::string, int> seen;
  for (const Slot& slot : slots_) {
    std::string name(slot.callback->name());
    if (const int count = ++seen[name]; count > 1) name += fmt::format("_{}", count);
    const StateVisitor::Scope one(visitor, name);
    slot.callback->visit_state(visitor);
  }
  sync_step_clock();
}

/// What the running fit had planned, where it began, and what it has of the epoch that it is in.
void Learner::visit_fit(StateVisitor& visitor) {
  visitor.visit("epochs", state_.epochs);
  visitor.visit("batches", state_.fit_batches);
  visitor.visit("first_epoch", state_.fit_first_epoch);
  visitor.visit("first_batch", state_.fit_first_batch);
  visitor.visit("first_step", state_.fit_first_step);
  visitor.visit("epoch_first_batch", state_.epoch_first_batch);
  visitor.visit("train_loss", state_.train_loss);
  bool begun = !fit_hypers_.empty();
  visitor.visit("begun", begun);
  if (begun) {
    fit_hypers_.resize(static_cast<std::size_t>(params().groups()));
    Tensor table = as_table(fit_hypers_);
    visitor.visit("hypers", table);
    std::memcpy(fit_hypers_.data(), table.raw(), table.bytes());
  } else {
    fit_hypers_.clear();
  }
  const std::int64_t done = state_.batch_clock - state_.epoch_first_batch;
  if (done > 0 && done < train_.batches()) losses_.visit_state(ctx_, train_.batches(), visitor);
}

void Learner::resume() {
  require_idle("resume");
  check<UsageError>(!fit_hypers_.empty(),
                    "resume: this learner's state is not one that a fit has left; load that first");
  resumed_hypers_ = hypers();
}

std::vector<GroupHypers> Learner::hypers() const {
  std::vector<GroupHypers> out;
  out.reserve(static_cast<std::size_t>(params().groups()));
  for (int group = 0; group < params().groups(); ++group) out.push_back(optimizer_->hypers(group));
  return out;
}

void Learner::set_hypers(const std::vector<GroupHypers>& hypers) {
  for (int group = 0; group < params().groups(); ++group)
    optimizer_->set_hypers(group, hypers[static_cast<std::size_t>(group)]);
}

void Learner::begin_fit(std::int64_t epochs) {
  const std::int64_t batches = epochs * train_.batches();
  state_.resumed = !resumed_hypers_.empty();
  if (state_.resumed) {
    go_on_with_fit(epochs, batches);
  } else {
    state_.fit_first_epoch = state_.epoch_clock;
    state_.fit_first_batch = state_.epoch_first_batch = state_.batch_clock;
    state_.fit_first_step = state_.step_clock;
    fit_hypers_ = hypers();
  }
  state_.epoch = state_.epoch_clock - state_.fit_first_epoch;
  state_.epochs = epochs;
  state_.fit_batches = batches;
  state_.fit_steps = batches;
}

/// A schedule restores at the end what it found at train_begin: that is what was there before it.
/// What it had made of it by now comes back after train_begin.
void Learner::go_on_with_fit(std::int64_t epochs, std::int64_t batches) {
  const std::vector<GroupHypers> asked = hypers();
  std::vector<GroupHypers> running = std::exchange(resumed_hypers_, {});
  check<UsageError>(epochs == state_.epochs && batches == state_.fit_batches,
                    "fit: the training to be resumed was to last {} epochs, {} batches; this one "
                    "would last {} epochs, {} batches",
                    state_.epochs,
                    state_.fit_batches,
                    epochs,
                    batches);
  for (std::size_t group = 0; group < asked.size(); ++group)
    check<UsageError>(asked[group].lr == fit_hypers_[group].lr,
                      "fit: the training to be resumed had a learning rate of {} for layer group "
                      "{}, not {}",
                      fit_hypers_[group].lr,
                      group / 2,
                      asked[group].lr);
  set_hypers(fit_hypers_);
  resumed_hypers_ = std::move(running);
}

}  // namespace learn
