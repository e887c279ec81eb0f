#include "callbacks/terminate_on_nan.h"

#include "framework/backend/cast.h"
#include "framework/core/log.h"
#include "framework/learner/learner.h"
#include "framework/tensor/factory.h"

#include <cmath>

namespace learn::callbacks {

void TerminateOnNan::train_begin(Learner&) { terminated_ = false; }

void TerminateOnNan::backward_begin(Learner& learn) {
  const TrainState& state = learn.state();
  const double loss = get(backend::to_host(learn.context(), state.loss.value()), 0);
  if (std::isfinite(loss)) return;
  terminated_ = true;
  log::warn(
      "[terminate_on_nan] the loss of epoch {}, batch {} is {}: training ends. Try a lower "
      "learning "
      "rate, gradient clipping, or fp32",
      state.epoch,
      state.batch_in_pass,
      loss);
  learn.cancel(Scope::train);
}

}  // namespace learn::callbacks
