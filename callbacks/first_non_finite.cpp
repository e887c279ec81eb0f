#include "callbacks/first_non_finite.h"

#include "framework/autograd/tape.h"
#include "framework/kernels/step/gradients.h"
#include "framework/kernels/step/step.h"
#include "framework/learner/learner.h"
#include "framework/nn/module.h"
#include "framework/runtime/device_array.h"

#include <fmt/core.h>

namespace learn::callbacks {
namespace {

/// Tells whether tensors are finite.
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

/// Modules report when they are done, so one inside of another comes before it.
class FirstLayer final : public ForwardObserver {
 public:
  explicit FirstLayer(Probe& probe) : probe_(probe) {}
  void forwarded(const nn::Module& module, const Var&, const Var& out) override {
    if (!found_.empty() || probe_.finite(out.value())) return;
    found_ =
        module.path().empty()
            ? fmt::format("the output of {} is the first", module.describe())
            : fmt::format("the output of '{}', {}, is the first", module.path(), module.describe());
  }
  [[nodiscard]] const std::string& found() const noexcept { return found_; }

 private:
  Probe& probe_;
  std::string found_;
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

std::string first_in_batch(Learner& learn, Probe& probe) {
  const BatchRun& batch = learn.batch();
  if (!batch.x.defined()) return {};
  if (is_floating(batch.x.dtype()) && !probe.finite(batch.x))
    return "the batch's inputs are not finite";
  FirstLayer first(probe);
  Tape tape(learn.context(),
            {.mode = learn.training_mode(),
             .grad = false,
             .batch = static_cast<std::uint64_t>(learn.progress().batch_clock),
             .autocast = learn.autocast()});
  tape.observe(&first);
  (void)learn.model()(tape.padded_input(batch.x, batch.padding));
  learn.params().restore_buffers();
  return first.found();
}

}  // namespace

std::string first_non_finite(Learner& learn) {
  Probe probe(learn.context());
  std::string found = first_parameter(learn.params(), probe);
  if (found.empty()) found = first_in_batch(learn, probe);
  // Last: the batch's own forward pass has changed them.
  return found.empty() ? first_running_statistic(learn.params(), probe) : found;
}

}  // namespace learn::callbacks
