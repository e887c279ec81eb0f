#include "callbacks/diagnose/first_non_finite.h"

#include "callbacks/diagnose/batch_replay.h"
#include "framework/kernels/step/gradients.h"
#include "framework/kernels/step/step.h"
#include "framework/learner/learner.h"
#include "framework/runtime/device_array.h"

#include <fmt/core.h>

namespace learn::callbacks {
namespace {

/// Tests whether tensors are finite.
class Probe {
 public:
  explicit Probe(Context& ctx) : ctx_(ctx), control_(ctx.persistent()) {}
  [[nodiscard]] bool finite(const Tensor& x) {
    kernels::write_control(ctx_, {}, control_);
    kernels::find_non_finite(ctx_, x, control_);
    return control_.read(ctx_).found_inf == 0;
  }

 private:
  Context& ctx_;
  DeviceArray<StepControl> control_;
};

std::string first_parameter(const nn::ParamStore& params, Probe& probe) {
  for (std::int64_t i = 0; i < params.size(); ++i)
    if (!probe.finite(params.master(i)))
      return fmt::format("the parameter '{}' is not finite", params.info(i).name);
  return {};
}

std::string first_running_statistic(nn::ParamStore& params, Probe& probe) {
  for (std::int64_t i = 0; i < params.buffer_count(); ++i)
    if (!probe.finite(params.buffer(i).value))
      return fmt::format("the running statistic '{}' is not finite", params.buffer(i).name);
  return {};
}

std::string first_in_batch(Learner& learn) {
  if (!learn.batch().x.defined()) return {};
  const Replay replay =
      replay_batch(learn, {.batch = learn.progress().batch_clock, .backward = false});
  learn.params().restore_buffers();
  if (!replay.inputs_finite) return "the batch's inputs are not finite";
  return replay.first_output.empty() ? "" : as_subject(replay.first_output) + " is the first";
}

}  // namespace

std::string first_non_finite(Learner& learn) {
  Probe probe(learn.context());
  std::string found = first_parameter(learn.params(), probe);
  if (found.empty()) found = first_in_batch(learn);
  // Checked last, because the batch's forward pass has changed them.
  return found.empty() ? first_running_statistic(learn.params(), probe) : found;
}

}  // namespace learn::callbacks
