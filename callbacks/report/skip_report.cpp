#include "callbacks/report/skip_report.h"

#include "callbacks/gradient_clip.h"
#include "callbacks/registry.h"
#include "framework/core/log.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"

#include <fmt/core.h>

namespace learn::callbacks {
namespace {

std::string advice(const Learner& learn) {
  return fmt::format(
      "--callbacks blame names the layer; a lower learning rate, {}, bf16 or fp32 may help",
      clipping_advice(learn));
}

}  // namespace

std::vector<std::string> SkipReport::claims() const { return {"report skipped steps"}; }

void SkipReport::train_begin(Learner& learn) {
  const SkipHistory& steps = recorder_of(learn, name()).steps(learn);
  fit_ = {.counts = steps.counts(), .scale = steps.loss_scale()};
  told_ = learn.progress().batch_clock;
  verdict_ = {};
}

void SkipReport::epoch_begin(Learner& learn) {
  const SkipHistory& steps = recorder_of(learn, name()).steps(learn);
  epoch_ = {.counts = steps.counts(), .scale = steps.loss_scale()};
}

void SkipReport::epoch_end(Learner& learn) {
  const SkipHistory& steps = recorder_of(learn, name()).steps(learn);
  for (const StepRecord& record : steps.records()) {
    if (record.batch <= told_) continue;
    told_ = record.batch;
    log::debug("[skip_report] batch {}: {}, loss scale {} -> {}",
               record.batch,
               record.event == StepEvent::growth
                   ? std::string("clean steps")
                   : fmt::format("skipped ({})", name_of(record.event)),
               record.scale_before,
               record.scale_after);
  }
  const FitProgress& fit = learn.progress();
  const StepVerdict epoch = steps.verdict(steps.counts().since(epoch_.counts), epoch_.scale);
  if (fit.epochs > 1 && !epoch.normal)
    log::warn("[skip_report] epoch {}: {}", fit.epoch + 1, epoch.text);
}

void SkipReport::train_end(Learner& learn) {
  const SkipHistory& steps = recorder_of(learn, name()).steps(learn);
  verdict_ = steps.verdict(steps.counts().since(fit_.counts), fit_.scale);
  if (verdict_.text.empty()) return;
  if (verdict_.normal)
    log::info("[skip_report] {}", verdict_.text);
  else
    log::warn("[skip_report] {}. {}", verdict_.text, advice(learn));
}

void SkipReport::error(Learner& learn, const std::exception& error) {
  if (dynamic_cast<const DivergedError*>(&error) != nullptr) train_end(learn);
}

void register_skip_report(CallbackRegistry& registry) {
  registry.add("skip_report",
               "reports whether the steps skipped in half precision are normal",
               [](const RunSettings&) { return make_callback<SkipReport>(Role::reports); });
}

}  // namespace learn::callbacks
