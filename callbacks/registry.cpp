#include "callbacks/registry.h"

#include "callbacks/early_stopping.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/mixed_precision.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/learner/learner.h"
#include "framework/learner/param_scheduler.h"

namespace learn::callbacks {
namespace {

Callback& add_mixed_precision(Learner& learn, CallbackOptions& options) {
  MixedPrecisionOptions out;
  const std::string dtype = options.text("dtype", "f16");
  if (dtype != "f16" && dtype != "bf16")
    fail<UsageError>("mixed_precision: dtype must be f16 or bf16, not '{}'", dtype);
  out.dtype = dtype == "f16" ? DType::f16 : DType::bf16;
  out.flat_master = options.flag("flat_master", out.flat_master);
  out.scaling.dynamic = options.flag("dynamic", out.scaling.dynamic);
  out.scaling.growth_interval = options.integer("growth_interval", out.scaling.growth_interval);
  if (options.has("loss_scale"))
    out.loss_scale = static_cast<float>(options.real("loss_scale", 0));
  else
    (void)options.text("loss_scale", "");
  options.finish();
  return learn.add<MixedPrecision>(out);
}

Callback& add_gradient_clip(Learner& learn, CallbackOptions& options) {
  const auto limit = static_cast<float>(options.real("limit", 1));
  const std::string by = options.text("by", "norm");
  options.finish();
  if (by != "norm" && by != "value")
    fail<UsageError>("gradient_clip: by must be norm or value, not '{}'", by);
  return learn.add<GradientClip>(limit, by == "norm" ? ClipBy::norm : ClipBy::value);
}

Callback& add_gradient_accumulation(Learner& learn, CallbackOptions& options) {
  const AccumulateEvery every{.batches = options.integer("batches", 0),
                              .samples = options.integer("samples", 0)};
  options.finish();
  return learn.add<GradientAccumulation>(every);
}

Callback& add_early_stopping(Learner& learn, CallbackOptions& options) {
  const EarlyStoppingOptions defaults;
  const EarlyStoppingOptions out{.monitor = options.text("monitor", defaults.monitor),
                                 .min_delta = options.real("min_delta", defaults.min_delta),
                                 .patience = options.integer("patience", defaults.patience),
                                 .better = better_from(options.text("mode", "auto"))};
  options.finish();
  return learn.add<EarlyStopping>(out);
}

Callback& add_terminate_on_nan(Learner& learn, CallbackOptions& options) {
  options.finish();
  return learn.add<TerminateOnNan>();
}

optim::Schedule schedule_from(CallbackOptions& options) {
  namespace schedules = optim::schedules;
  const std::string kind = options.text("schedule", "linear");
  const double start = options.real("start", 0);
  if (kind == "constant") return schedules::constant(start);
  const double end = options.real("end", 0);
  if (kind == "linear") return schedules::linear(start, end);
  if (kind == "cosine") return schedules::cosine(start, end);
  if (kind == "exponential") return schedules::exponential(start, end);
  if (kind == "polynomial") return schedules::polynomial(start, end, options.real("power", 2));
  fail<UsageError>(
      "param_scheduler: unknown schedule '{}'; known: constant, cosine, exponential, linear, "
      "polynomial",
      kind);
}

Callback& add_param_scheduler(Learner& learn, CallbackOptions& options) {
  const Hyper hyper = hyper_from(options.text("hyper", "lr"));
  const std::string clock = options.text("clock", "batch");
  if (clock != "batch" && clock != "step")
    fail<UsageError>("param_scheduler: clock must be batch or step, not '{}'", clock);
  const optim::Schedule schedule = schedule_from(options);
  options.finish();
  return learn.add<ParamScheduler>(std::vector{ScheduledHyper{hyper, {schedule}}},
                                   clock == "batch" ? Clock::batch : Clock::step);
}

}  // namespace

Registry<CallbackFactory> callback_registry() {
  Registry<CallbackFactory> registry("callback");
  registry.add("mixed_precision",
               "half precision with f32 masters: dtype=f16|bf16, flat_master, dynamic, loss_scale, "
               "growth_interval",
               add_mixed_precision);
  registry.add(
      "gradient_clip", "limits unscaled gradients: limit=1, by=norm|value", add_gradient_clip);
  registry.add("gradient_accumulation",
               "one update for several batches: batches=N or samples=N",
               add_gradient_accumulation);
  registry.add("early_stopping",
               "ends training without progress: monitor=valid_loss, patience=1, min_delta=0, "
               "mode=auto|min|max",
               add_early_stopping);
  registry.add(
      "terminate_on_nan", "ends training when the loss is infinite or NaN", add_terminate_on_nan);
  registry.add("param_scheduler",
               "moves a hyper-parameter: hyper=lr|momentum|weight_decay|dampening|beta2|eps, "
               "schedule=constant|cosine|exponential|linear|polynomial, start, end, power, "
               "clock=batch|step",
               add_param_scheduler);
  return registry;
}

Callback& add_from_text(Learner& learn, std::string_view spec) {
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const std::string name(spec.substr(0, colon));
  spec.remove_prefix(std::min(colon + 1, spec.size()));
  CallbackOptions options(name, spec);
  return callback_registry().at(name).value(learn, options);
}

}  // namespace learn::callbacks
