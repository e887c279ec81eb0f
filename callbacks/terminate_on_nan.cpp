#include "callbacks/terminate_on_nan.h"

#include "callbacks/diagnose/first_non_finite.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/registry.h"
#include "framework/core/log.h"
#include "framework/core/nan_sign.h"
#include "framework/kernels/step/gradients.h"
#include "framework/kernels/step/step.h"
#include "framework/learner/learner.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

namespace learn::callbacks {

void TerminateOnNan::train_begin(Learner& learn) {
  why_.clear();
  batches_since_look_ = 0;
  Context& ctx = learn.context();
  if (ctx.device().is_cpu()) return;
  if (!seen_.defined()) seen_ = DeviceArray<StepControl>(ctx.persistent());
  kernels::write_control(ctx, {}, seen_);
}

void TerminateOnNan::terminate(Learner& learn, const std::string& why) {
  std::string cause;
  try {
    cause = first_non_finite(learn);
  } catch (const OutOfMemoryError&) {  // no memory for the search, which is not the cause
  }
  why_ = cause.empty() ? why : fmt::format("{} ({})", why, cause);
  log::warn("[terminate_on_nan] {}: training ends. Try a lower learning rate{} {}{}",
            why_,
            learn.callbacks().precision() == nullptr ? " or" : ",",
            clipping_advice(learn),
            learn.callbacks().precision() == nullptr ? "" : ", or fp32");
  learn.cancel(Scope::train);
}

void TerminateOnNan::backward_begin(Learner& learn) {
  // Several ranks have one loss, on which all decide, after the backward pass.
  if (learn.context().device().is_cpu() && learn.exchange() == nullptr) look_at_loss(learn);
}

void TerminateOnNan::look_at_loss(Learner& learn) {
  const double loss = get(learn.batch().loss.value(), 0);
  if (std::isfinite(loss)) return;
  terminate(learn,
            fmt::format("the loss of epoch {}, batch {} is {}",
                        learn.progress().epoch + 1,
                        learn.progress().batch_in_pass + 1,
                        without_nan_sign(loss)));
}

void TerminateOnNan::backward_end(Learner& learn) {
  Context& ctx = learn.context();
  if (ctx.device().is_cpu()) {
    if (learn.exchange() != nullptr) look_at_loss(learn);
    return;
  }
  const Tensor& loss = learn.batch().loss.value();
  kernels::find_non_finite(ctx, loss, learn.optimizer().control());
  kernels::find_non_finite(ctx, loss, seen_);
}

void TerminateOnNan::batch_end(Learner& learn) {
  if (!learn.progress().training || learn.context().device().is_cpu()) return;
  if (++batches_since_look_ == kBatchesBetweenLooks) look(learn);
}

void TerminateOnNan::validate_begin(Learner& learn) {
  if (learn.progress().activity == Activity::fit && batches_since_look_ > 0) look(learn);
}

void TerminateOnNan::validate_end(Learner& learn) {
  const PassResults& results = learn.results();
  if (learn.progress().activity != Activity::fit || terminated()) return;
  if (results.valid_samples == 0 || std::isfinite(results.valid_loss)) return;
  terminate(learn,
            fmt::format("the validation loss of epoch {} is {}",
                        learn.progress().epoch + 1,
                        without_nan_sign(results.valid_loss)));
}

void TerminateOnNan::epoch_end(Learner& learn) {
  if (batches_since_look_ > 0) look(learn);
}

void TerminateOnNan::look(Learner& learn) {
  const StepControl seen = seen_.read(learn.context());
  const std::int64_t batches = std::exchange(batches_since_look_, 0);
  if (seen.found_inf == 0) return;
  terminate(learn,
            fmt::format("a loss among the last {} batches of epoch {} is infinite or NaN, and its "
                        "step was not made",
                        batches,
                        learn.progress().epoch + 1));
}

void register_terminate_on_nan(CallbackRegistry& registry) {
  registry.add("terminate_on_nan",
               "stops training when the loss is infinite or NaN",
               [](const RunSettings&) { return make_callback<TerminateOnNan>(Role::trains); });
}

}  // namespace learn::callbacks
