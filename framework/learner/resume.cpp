// The state of a training, and how a fit continues from it.
#include "framework/core/log.h"
#include "framework/io/checkpoint.h"
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
  state_.progress.visit_state(visitor);
  {
    const StateVisitor::Scope data(visitor, "data");
    train_source().visit_state(visitor);
    state_.next.place_loaded = state_.next.place_loaded || visitor.loading();
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
  visitor.check_loaded("fit.first_step",
                       state_.progress.fit_first_step,
                       IntegerLimits{.high = state_.progress.step_clock});
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
  log::warn("[resume] {}: from now on this is a different training",
            describe_crossing(name, saved, own));
}

/// In addition to the plan: initial values of the running fit, and its values of the current epoch.
void Learner::visit_fit(StateVisitor& visitor) {
  visitor.visit("train_loss", state_.results.train_loss);
  visitor.visit("skipped_steps", state_.results.skipped_steps, {});
  visitor.visit("skipped_before", state_.progress.pass_first_skipped, {});
  bool begun = !state_.fit_hypers.empty();
  visitor.visit("begun", begun);
  if (begun) {
    state_.fit_hypers.resize(static_cast<std::size_t>(params().groups()));
    Tensor table = as_table(state_.fit_hypers);
    visitor.visit("hypers", table);
    std::memcpy(state_.fit_hypers.data(), table.raw(), table.bytes());
  } else {
    state_.fit_hypers.clear();
  }
  const std::int64_t done = state_.progress.batch_clock - state_.progress.epoch_first_batch;
  const bool in_pass = done > 0 && done < train_source().batches();
  if (state_.results.train_metrics.empty() || (in_pass && visitor.loading())) begin_train_metrics();
  for (auto& [name, value] : state_.results.train_metrics) visitor.visit(name, value);
  if (!in_pass) return;
  state_.losses.visit_state(ctx_, done, train_source().batches(), visitor);
  if (!state_.train_metrics) return;
  const StateVisitor::Scope metrics(visitor, "train_metrics");
  state_.train_metrics->visit_state(train_source().samples(), visitor);
}

void Learner::save(const std::filesystem::path& path) {
  require_model("save");
  save_state(path, [&](StateVisitor& visitor) { visit_state(visitor); });
}

void Learner::load(const std::filesystem::path& path) {
  require_idle("load");
  load_state(path, [&](StateVisitor& visitor) { visit_state(visitor); });
}

void Learner::save_weights(const std::filesystem::path& path) {
  learn::save_weights(path, params());
}

void Learner::load_weights(const std::filesystem::path& path) {
  require_idle("load_weights");
  learn::load_weights(path, params());
}

void Learner::resume() {
  require_idle("resume");
  check<UsageError>(
      !state_.fit_hypers.empty(),
      "resume: this learner's state is not that of an unfinished fit; load one first");
  state_.next.hypers = optimizer_->all_hypers();
}

/// A schedule restores at the end the values of train_begin, so those from before it are set here.
/// Returns the values at the time of saving, to be set after train_begin.
std::vector<GroupHypers> Learner::begin_fit(std::int64_t epochs) {
  params().commit_buffers();
  sync_step_clock();
  const LearnerState::NextFit next = std::exchange(state_.next, {});
  const std::vector<GroupHypers>& asked = optimizer_->all_hypers();
  if (next.hypers.empty()) {
    // A new fit starts with a whole epoch, so this resets a position in the middle of one.
    if (next.place_loaded) train_source().begin(state_.progress.epoch_clock);
    state_.fit_hypers = asked;
    state_.progress.begin_fit(epochs, train_source().batches());
    return {};
  }
  state_.progress.resume_fit(epochs, train_source().batches());
  for (std::size_t group = 0; group < asked.size(); ++group)
    check<UsageError>(
        asked[group].lr == state_.fit_hypers[group].lr,
        "fit: the training to resume has a learning rate of {} for layer group {}, not {}",
        state_.fit_hypers[group].lr,
        nn::param_group(static_cast<int>(group)).layer_group,
        asked[group].lr);
  optimizer_->set_all_hypers(state_.fit_hypers);
  return next.hypers;
}

}  // namespace learn
