// The state of a training, and how a fit continues from it.
#include "framework/core/log.h"
#include "framework/kernels/step/step.h"
#include "framework/learner/host_staging_visitor.h"
#include "framework/learner/learner.h"
#include "framework/learner/precision_state.h"
#include "framework/tensor/host_tensor.h"

#include <cstring>
#include <utility>

namespace learn {
namespace {

/// Hyper-parameters of all groups as rows of f32.
Tensor as_table(const std::vector<GroupHypers>& hypers) {
  constexpr auto kColumns = static_cast<std::int64_t>(sizeof(GroupHypers) / sizeof(float));
  static_assert(sizeof(GroupHypers) == kColumns * sizeof(float), "rows of f32");
  Tensor table = host_tensor({static_cast<std::int64_t>(hypers.size()), kColumns}, DType::f32);
  std::memcpy(table.raw(), hypers.data(), table.bytes());
  return table;
}

}  // namespace

void Learner::visit_all(StateVisitor& host_visitor) {
  HostStagingVisitor visitor(ctx_, host_visitor);
  {
    const StateVisitor::Scope model(visitor, "model");
    params().visit_state(visitor);
  }
  {
    const StateVisitor::Scope optimizer(visitor, "optimizer");
    optimizer_->visit_state(visitor);
  }
  progress_.visit_state(visitor);
  {
    const StateVisitor::Scope data(visitor, "data");
    train_source().visit_state(visitor);
    place_loaded_ = place_loaded_ || visitor.loading();
  }
  {
    const StateVisitor::Scope fit(visitor, "fit");
    visit_fit(visitor);
  }
  {
    const StateVisitor::Scope precision(visitor, "precision");
    visit_precision(visitor);
  }
  const StateVisitor::Scope callbacks(visitor, "callbacks");
  callbacks_.visit_state(visitor);
  sync_step_clock();
  visitor.check_loaded(
      "fit.first_step", progress_.fit_first_step, IntegerLimits{.high = progress_.step_clock});
}

/// After the optimizer: the loss scale is in its control block.
void Learner::visit_precision(StateVisitor& visitor) {
  PrecisionState nothing;
  PrecisionState* const set = callbacks_.precision();
  PrecisionState& own = set != nullptr ? *set : nothing;
  std::string name = own.name;
  visitor.visit("name", name);
  visitor.visit("scale_set", own.scale_set);
  if (!visitor.loading() || name == own.name) return;
  const float scale = optimizer_->read_control().loss_scale;
  const std::optional<float> saved = own.scale_set ? std::optional(scale) : std::nullopt;
  const float continued = continued_scale(own, saved);
  if (continued != scale) kernels::set_loss_scale(ctx_, continued, optimizer_->control());
  own.scale_set = own.first_scale.has_value();
  log::warn("[resume] {}: from here on it is another training",
            describe_crossing(name, saved, own));
}

/// Beside the plan: what the running fit began with, and what it has of the epoch that it is in.
void Learner::visit_fit(StateVisitor& visitor) {
  visitor.visit("train_loss", results_.train_loss);
  visitor.visit("skipped_steps", results_.skipped_steps, {});
  visitor.visit("skipped_before", skipped_before_, {});
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
  if (options_.train_metrics && results_.train_metrics.empty()) begin_train_metrics();
  for (auto& [name, value] : results_.train_metrics) visitor.visit(name, value);
  const std::int64_t done = progress_.batch_clock - progress_.epoch_first_batch;
  if (done > 0 && done < train_source().batches()) {
    const bool weighted = static_cast<bool>(options_.loss.weight);
    losses_.visit_state(ctx_, done, train_source().batches(), weighted, visitor);
    if (!options_.train_metrics) return;
    if (visitor.loading()) begin_train_metrics();
    const StateVisitor::Scope metrics(visitor, "train_metrics");
    if (train_metrics_) train_metrics_->visit_state(train_source().samples(), visitor);
  }
}

void Learner::resume() {
  require_idle("resume");
  check<UsageError>(!fit_hypers_.empty(),
                    "resume: this learner's state is not one that a fit has left; load that first");
  resumed_hypers_ = optimizer_->all_hypers();
}

/// A schedule restores at the end what it found at train_begin: that is what was there before it.
/// What it had made of it by the time of saving comes back after train_begin.
void Learner::begin_fit(std::int64_t epochs) {
  params().commit_buffers();
  sync_step_clock();
  const std::vector<GroupHypers> saved = std::exchange(resumed_hypers_, {});
  const std::vector<GroupHypers>& asked = optimizer_->all_hypers();
  const bool place_loaded = std::exchange(place_loaded_, false);
  if (saved.empty()) {
    // A new fit begins with a whole epoch: this uses up the place in the middle of one.
    if (place_loaded) train_source().begin(progress_.epoch_clock);
    fit_hypers_ = asked;
    return progress_.begin_fit(epochs, train_source().batches());
  }
  progress_.resume_fit(epochs, train_source().batches());
  for (std::size_t group = 0; group < asked.size(); ++group)
    check<UsageError>(asked[group].lr == fit_hypers_[group].lr,
                      "fit: the training to be resumed had a learning rate of {} for layer group "
                      "{}, not {}",
                      fit_hypers_[group].lr,
                      nn::param_group(static_cast<int>(group)).layer_group,
                      asked[group].lr);
  optimizer_->set_all_hypers(fit_hypers_);
  resumed_hypers_ = saved;
}

void Learner::restore_schedules() {
  optimizer_->set_all_hypers(std::exchange(resumed_hypers_, {}));
}

}  // namespace learn
