#include "callbacks/registry.h"

#include "callbacks/checkpointer.h"
#include "callbacks/csv_logger.h"
#include "callbacks/cuda_graph.h"
#include "callbacks/early_stopping.h"
#include "callbacks/ema.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/mixed_precision.h"
#include "callbacks/plot_results.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/learner/learner.h"
#include "framework/learner/param_scheduler.h"
#include "framework/learner/progress.h"
#include "framework/learner/recorder.h"

#include <array>

namespace learn::callbacks {
namespace {

template <class C, class... Args>
CallbackWithEvents make_entry(Args&&... args) {
  return {std::make_unique<C>(std::forward<Args>(args)...), handled_by<C>()};
}

CallbackWithEvents make_mixed_precision(CallbackOptions& options, const RunSettings&) {
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
  return make_entry<MixedPrecision>(out);
}

CallbackWithEvents make_gradient_clip(CallbackOptions& options, const RunSettings&) {
  const auto limit = static_cast<float>(options.real("limit", 1));
  const std::string by = options.text("by", "norm");
  options.finish();
  if (by != "norm" && by != "value")
    fail<UsageError>("gradient_clip: by must be norm or value, not '{}'", by);
  return make_entry<GradientClip>(limit, by == "norm" ? ClipBy::norm : ClipBy::value);
}

CallbackWithEvents make_cuda_graph(CallbackOptions& options, const RunSettings&) {
  const std::int64_t warm_up = options.integer("warm_up", GraphStep::kWarmUp);
  options.finish();
  return make_entry<CudaGraph>(warm_up);
}

CallbackWithEvents make_gradient_accumulation(CallbackOptions& options, const RunSettings&) {
  const AccumulateEvery every{.batches = options.integer("batches", 0),
                              .samples = options.integer("samples", 0)};
  options.finish();
  return make_entry<GradientAccumulation>(every);
}

CallbackWithEvents make_ema(CallbackOptions& options, const RunSettings&) {
  EmaOptions out;
  out.decay = options.real("decay", out.decay);
  out.warmup = options.flag("warmup", out.warmup);
  const bool evaluate = options.flag("evaluate", true);
  options.finish();
  return make_entry<Ema>(out, evaluate);
}

CallbackWithEvents make_early_stopping(CallbackOptions& options, const RunSettings& run) {
  const EarlyStoppingOptions defaults;
  const EarlyStoppingOptions out{.monitor = options.text("monitor", run.monitor),
                                 .min_delta = options.real("min_delta", defaults.min_delta),
                                 .patience = options.integer("patience", defaults.patience),
                                 .better = better_from(options.text("mode", "auto"))};
  options.finish();
  return make_entry<EarlyStopping>(out);
}

CallbackWithEvents make_terminate_on_nan(CallbackOptions& options, const RunSettings&) {
  options.finish();
  return make_entry<TerminateOnNan>();
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

CallbackWithEvents make_param_scheduler(CallbackOptions& options, const RunSettings&) {
  const Hyper hyper = hyper_from(options.text("hyper", "lr"));
  const std::string clock = options.text("clock", "batch");
  if (clock != "batch" && clock != "step")
    fail<UsageError>("param_scheduler: clock must be batch or step, not '{}'", clock);
  const optim::Schedule schedule = schedule_from(options);
  options.finish();
  return make_entry<ParamScheduler>(std::vector{ScheduledHyper{hyper, {schedule}}},
                                    clock == "batch" ? Clock::batch : Clock::step);
}

CallbackWithEvents make_recorder(CallbackOptions& options, const RunSettings&) {
  const double beta = options.real("beta", Recorder::kBeta);
  options.finish();
  return make_entry<Recorder>(beta);
}

Live live_from(const std::string& name) {
  if (name == "auto") return Live::automatic;
  if (name == "bar") return Live::bar;
  if (name == "lines") return Live::lines;
  if (name == "off") return Live::off;
  fail<UsageError>("progress: live must be auto, bar, lines or off, not '{}'", name);
}

CallbackWithEvents make_progress(CallbackOptions& options, const RunSettings&) {
  ProgressOptions out;
  out.live = live_from(options.text("live", "auto"));
  out.heartbeat_seconds = options.real("heartbeat", out.heartbeat_seconds);
  options.finish();
  return make_entry<Progress>(out);
}

CallbackWithEvents make_csv_logger(CallbackOptions& options, const RunSettings& run) {
  const std::string path = options.text("path", "results.csv");
  options.finish();
  return make_entry<CsvLogger>(run.folder / path);
}

CallbackWithEvents make_checkpointer(CallbackOptions& options, const RunSettings& run) {
  CheckpointerOptions out;
  out.folder = run.folder / options.text("folder", "weights");
  out.last = options.flag("last", out.last);
  out.best = options.flag("best", out.best);
  out.every = options.integer("every", out.every);
  out.monitor = options.text("monitor", run.monitor);
  out.better = better_from(options.text("mode", "auto"));
  out.min_delta = options.real("min_delta", out.min_delta);
  out.metadata = run.metadata;
  options.finish();
  return make_entry<Checkpointer>(std::move(out));
}

CallbackWithEvents make_plot_results(CallbackOptions& options, const RunSettings& run) {
  const std::string folder = options.text("folder", "");
  const std::string title = options.text("title", run.title);
  options.finish();
  return make_entry<PlotResults>(folder.empty() ? run.folder : run.folder / folder, title);
}

/// Callbacks that text cannot describe, and how they are had.
struct NotFromText {
  std::string_view name;
  std::string_view instead;
};
constexpr std::array kNotFromText{
    NotFromText{"interrupt",
                "it waits for a flag of the program. 'learn train' always has it; a program adds "
                "callbacks::Interrupt with its flag"},
    NotFromText{
        "lambda",
        "it runs a function of the program. A program adds one with callbacks::on(learn, event, "
        "function)"},
};

struct Spec {
  std::string name;
  std::string_view options;
};

Spec parse_spec(std::string_view spec) {
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const std::string_view rest = spec.substr(std::min(colon + 1, spec.size()));
  Spec out{std::string(spec.substr(0, colon)), rest};
  for (const NotFromText& one : kNotFromText)
    if (one.name == out.name)
      fail<UsageError>("callback '{}' cannot be made from text: {}", one.name, one.instead);
  return out;
}

void add_training(Registry<CallbackFactory>& registry) {
  registry.add("mixed_precision",
               "half precision with f32 masters: dtype=f16|bf16, flat_master, dynamic, loss_scale, "
               "growth_interval",
               {make_mixed_precision});
  registry.add(
      "gradient_clip", "limits unscaled gradients: limit=1, by=norm|value", {make_gradient_clip});
  registry.add("gradient_accumulation",
               "one update for several batches: batches=N or samples=N",
               {make_gradient_accumulation});
  registry.add("cuda_graph",
               "the whole training step as one launch on a CUDA device: warm_up=2 (batches of a "
               "kind before it is captured)",
               {make_cuda_graph});
  registry.add("ema",
               "keeps a moving average of the weights: decay=0.999, warmup=true (less decay at "
               "first), evaluate=true (validation and best.safetensors take the average)",
               {make_ema});
  registry.add("early_stopping",
               "ends training without progress: monitor=valid_loss, patience=1, min_delta=0, "
               "mode=auto|min|max",
               {make_early_stopping});
  registry.add("terminate_on_nan",
               "ends training when the loss is infinite or NaN",
               {make_terminate_on_nan});
  registry.add("param_scheduler",
               "moves a hyper-parameter: hyper=lr|momentum|weight_decay|dampening|beta2|eps, "
               "schedule=constant|cosine|exponential|linear|polynomial, start, end, power, "
               "clock=batch|step",
               {make_param_scheduler});
}

void add_reporting(Registry<CallbackFactory>& registry) {
  registry.add("recorder",
               "keeps losses, rates and times for the others: beta=0.98 of the smoothed loss",
               {make_recorder, true});
  registry.add("progress",
               "a table of epochs, a bar or lines between: live=auto|bar|lines|off, heartbeat=30 "
               "(seconds between lines)",
               {make_progress, true});
  registry.add(
      "csv_logger", "the table of epochs as a file: path=results.csv", {make_csv_logger, true});
  registry.add("checkpointer",
               "saves the state at the end of epochs: folder=weights, last=true, best=true, "
               "every=0 (N: each N epochs), monitor=valid_loss, mode=auto|min|max, min_delta=0",
               {make_checkpointer, true});
  registry.add("plot_results",
               "draws losses, metrics and schedule when training ends: folder, title",
               {make_plot_results, true});
}

}  // namespace

Registry<CallbackFactory> callback_registry() {
  Registry<CallbackFactory> registry("callback");
  add_training(registry);
  add_reporting(registry);
  return registry;
}

CallbackWithEvents make_from_text(std::string_view spec, const RunSettings& run) {
  const Spec parts = parse_spec(spec);
  const auto registry = callback_registry();
  CallbackOptions options(parts.name, parts.options);
  return registry.at(parts.name).value.make(options, run);
}

bool reports(std::string_view spec) {
  return callback_registry().at(parse_spec(spec).name).value.reports;
}

Callback& add_from_text(Learner& learn, std::string_view spec, const RunSettings& run) {
  CallbackWithEvents made = make_from_text(spec, run);
  Callback& callback = *made.callback;
  learn.insert(std::move(made.callback), made.events);
  return callback;
}

}  // namespace learn::callbacks
