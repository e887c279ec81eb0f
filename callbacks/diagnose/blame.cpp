#include "callbacks/diagnose/blame.h"

#include "callbacks/registry.h"
#include "framework/core/log.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"
#include "framework/learner/precision_state.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace learn::callbacks {
namespace {

/// Describes the role of the loss scale.
std::string reason_of(const StepRecord& step) {
  const auto scale = static_cast<double>(step.scale_before);
  switch (step.event) {
    case StepEvent::warm_up:
      return fmt::format("the loss scale of {} is being adjusted, which is normal", scale);
    case StepEvent::growth_probe:
      return fmt::format(
          "the loss scale has grown to {} and {}, which is normal",
          scale,
          step.scale_after < step.scale_before ? "goes back" : "stays until more are skipped");
    case StepEvent::bad_loss:
      return "the loss itself is not finite; a loss scale cannot fix that";
    case StepEvent::overflow:
    case StepEvent::growth:
      break;
  }
  if (step.scale_after != step.scale_before)
    return fmt::format("at a loss scale of {}, which had worked before", scale);
  return scale == 1 ? "there is no loss scale that could be lowered"
                    : fmt::format("at a loss scale of {}, which stays", scale);
}

std::string largest(const Replay::Largest& value) {
  if (value.where.empty()) return "none";
  return fmt::format("{:.4g}, {}", value.value, value.where);
}

/// Describes the first non-finite value.
std::string cause_of(const BlameReport& report, bool held) {
  const Replay& replay = report.replay;
  if (!replay.inputs_finite) return "the batch's inputs are not finite";
  if (!replay.first_output.empty())
    return fmt::format("{} is the first that is not finite, in the forward pass",
                       as_subject(replay.first_output));
  if (!std::isfinite(replay.loss)) return "the loss is not finite, and the outputs are";
  if (!replay.first_gradient.empty())
    return fmt::format("{} is the first that is not finite, in the backward pass",
                       as_subject(replay.first_gradient));
  std::string changed = "a callback changed the loss";
  if (std::isfinite(report.loss)) {
    changed = "a callback changed gradients after the backward pass";
    if (held) changed += ", or it was another batch of the same step";
  }
  return changed + " (this batch, run once more, is finite)";
}

std::string text_of(const BlameReport& report, std::int64_t epoch, DType dtype, bool held) {
  const Replay& replay = report.replay;
  std::string text = fmt::format("batch {}, in epoch {}, was skipped: {}\n  cause: {}",
                                 report.step.batch,
                                 epoch,
                                 reason_of(report.step),
                                 cause_of(report, held));
  const auto& parameters = replay.parameters.empty() ? report.parameters : replay.parameters;
  if (!parameters.empty())
    text += fmt::format(
        "\n  gradients that are not finite: {} ({})", parameters.size(), join_some(parameters, 6));
  text += "\n  largest finite value: " + largest(replay.output);
  text += "\n  largest finite gradient, times the loss scale: " + largest(replay.gradient);
  if (dtype == DType::f16) text += "\n  the largest finite f16 is 65504";
  return text;
}

}  // namespace

Blame::Blame(std::int64_t limit) : limit_(limit) {
  check<UsageError>(limit >= 1, "blame: the limit must be at least 1, got {}", limit);
}

std::vector<std::string> Blame::claims() const { return {"explain skipped steps"}; }

void Blame::train_begin(Learner& learn) {
  (void)recorder_of(learn, name());
  reports_.clear();
  told_ = learn.progress().batch_clock;
  batches_since_look_ = watched_ = unexplained_ = 0;
  held_ = held_now_ = false;
  const PrecisionState* const precision = learn.callbacks().precision();
  const nn::ParamStore& params = learn.params();
  const bool half_model = is_half(params.working_dtype()) && !is_half(params.master_dtype());
  if (!half_model && (precision == nullptr || !precision->first_scale))
    log::warn(
        "[blame] {} does not inspect gradients and skips no steps, so blame has nothing to explain",
        precision == nullptr ? "fp32" : precision->name);
}

void Blame::batch_end(Learner& learn) {
  if (!learn.progress().training) return;
  held_ = std::exchange(held_now_, learn.batch().outcome == Outcome::deferred);
  ++batches_since_look_;
  const bool free = learn.context().device().is_cpu();
  if (watched_ > 0)
    --watched_;
  else if (!free && batches_since_look_ < kBatchesBetweenLooks)
    return;
  look(learn, true);
}

void Blame::epoch_end(Learner& learn) {
  if (batches_since_look_ > 0) look(learn, false);
}

void Blame::look(Learner& learn, bool batch_is_at_hand) {
  batches_since_look_ = 0;
  const std::int64_t now = learn.progress().batch_clock;
  // The newest records come last.
  const std::vector<StepRecord>& all = recorder_of(learn, name()).steps(learn).records();
  const auto first = std::ranges::upper_bound(all, told_, {}, &StepRecord::batch);
  told_ = now;
  for (const StepRecord& step : std::vector<StepRecord>(first, all.end())) {
    if (step.event == StepEvent::growth) continue;
    const bool full = static_cast<std::int64_t>(reports_.size()) == limit_;
    if (batch_is_at_hand && step.batch == now && !full) {
      explain(learn, step);
      continue;
    }
    ++unexplained_;
    if (!full) watched_ = kBatchesBetweenLooks;
  }
}

void Blame::explain(Learner& learn, const StepRecord& step) {
  watched_ = 0;
  const BatchRun& batch = learn.batch();
  BlameReport report{.step = step,
                     .replay = {},
                     .parameters = parameters_with_bad_gradients(learn),
                     .loss = get(to_host(learn.context(), batch.loss.value()), 0),
                     .text = {}};
  const bool own_seed =
      batch.seed.defined() && !batch.seed.same_memory(learn.optimizer().loss_scale());
  try {
    report.replay = replay_batch(learn,
                                 {.batch = learn.progress().batch_clock - 1,
                                  .seed = own_seed ? batch.seed : Tensor(),
                                  .loss_scale = step.scale_before});
  } catch (const OutOfMemoryError& e) {
    ++unexplained_;
    return log::warn("[blame] batch {} was skipped; not enough memory to run it again: {}",
                     step.batch,
                     e.what());
  }
  report.text = text_of(report, learn.progress().epoch + 1, learn.params().working_dtype(), held_);
  const bool normal = step.event == StepEvent::warm_up || step.event == StepEvent::growth_probe;
  if (normal && report.replay.first_output.empty())
    log::info("[blame] {}", report.text);
  else
    log::warn("[blame] {}", report.text);
  reports_.push_back(std::move(report));
}

void Blame::train_end(Learner&) {
  if (unexplained_ == 0) return;
  log::info(
      "[blame] {} more steps were skipped but not inspected: their batches were no longer "
      "available, or {} had been explained (limit={})",
      unexplained_,
      reports_.size(),
      limit_);
}

void register_blame(CallbackRegistry& registry) {
  registry.add(
      "blame",
      "names the layer whose gradients caused a skipped step",
      std::int64_t{Blame::kUsualLimit},
      [](OptionTable& t, std::int64_t& limit) {
        t.number("limit", limit, kCount, "N", "number of steps of a fit to explain");
      },
      [](std::int64_t limit, const RunSettings&) {
        return make_callback<Blame>(Role::reports, limit);
      });
}

}  // namespace learn::callbacks
