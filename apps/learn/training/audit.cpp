#include "apps/learn/training/audit.h"

#include "apps/experiment/experiment.h"
#include "apps/experiment/range_check.h"
#include "apps/learn/cli/command.h"
#include "callbacks/diagnose/parity_audit.h"
#include "callbacks/registry.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/runs/result_path.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace learn::cli {
namespace {

/// Options of a training that do nothing in its first steps.
std::vector<std::string> without_effect_at_first() {
  return {"valid-limit", "shrink-batch", "ema",      "metrics",  "train-metrics", "out",
          "name",        "save-every",   "monitor",  "patience", "nan",           "plots",
          "progress",    "resume",       "extend",   "exist-ok", "dry-run",       "fast-dev-run",
          "params",      "print-config", "explain",  "report",   "sync-bn",       "bucket",
          "wire",        "rank-timeout", "rank-logs"};
}

/// The training in fp32, and what makes it one in half precision.
struct Audited {
  ExperimentOptions full;
  FitCallback half;
};

Audited split_off_precision(ExperimentOptions options) {
  const std::string* const given = options.precision_callback();
  const std::string spec = given != nullptr ? *given : options.precision.callback();
  std::erase(options.run.callbacks, spec);
  if (const std::string* const stops = options.run.named("early_stopping"))
    std::erase(options.run.callbacks, std::string(*stops));  // it watches a validation
  callbacks::CallbackWithEvents made = callbacks::make_from_text(spec);
  options.precision = {.flat_master = options.precision.flat_master};
  options.training.ema = 0;  // these two take no part in a step
  options.run.patience = 0;
  return {std::move(options), FitCallback(std::move(made.callback), made.events)};
}

}  // namespace

OptionTable AuditOptions::table() {
  OptionTable t = train.table().without(without_effect_at_first());
  t.group("This call");
  t.number("steps",
           steps,
           {.low = 1, .high = 10000},
           "N",
           "number of updates in each precision, of --accumulate batches each");
  t.text("save", save, "FILE", "write the numbers of each layer and step as CSV");
  return t;
}

void AuditOptions::resolve(const OptionTable& table, const OptionValues& command_line) {
  const OptionTable all = train.table();  // a configuration file may have them
  PrecisionSection& precision = train.experiment.precision;
  OptionValues of_training;
  bool precision_given = false;
  for (const auto& value : command_line) {
    if (all.find(value.first) == nullptr)
      set_options(table, {value});
    else
      of_training.push_back(value);
    precision_given = precision_given || value.first == "precision" || value.first == "opt-level";
    if (value.first == "config") precision.precision = "fp32";  // which may have another
  }
  train.resolve(all, of_training);
  if (precision.half()) return;
  if (precision_given)
    fail<UsageError>(
        "--precision {}: name the half precision to compare with fp32: fp16, bf16, ...",
        precision.chosen());
  precision.precision = "fp16";
}

int audit(const AuditOptions& o) {
  const PrecisionSection& precision = o.train.experiment.precision;
  if (!o.save.empty()) check_result_path(o.save, o.train.experiment.data.sources());
  Audited audited = split_off_precision(o.train.experiment);
  audited.full.data.leave_out_validation();
  Experiment experiment(std::move(audited.full));
  Learner& learn = experiment.learner();
  if (log::enabled(log::Level::info))
    console::say(
        stderr,
        fmt::format("{}{}against {}", experiment.headline(), separator(), precision.chosen()));
  if (!precision.keep_fp32.empty()) learn.keep_f32(precision.keep_fp32);
  if (const std::string& from = o.train.experiment.model.pretrained; !from.empty())
    check_range(learn, precision, from);
  // Infinite losses are what is looked for.
  if (const auto* const guard = learn.find<callbacks::TerminateOnNan>()) learn.remove(*guard);
  const callbacks::ParityAudit found =
      callbacks::audit_parity(learn,
                              audited.half,
                              {.steps = o.steps * o.train.experiment.training.accumulate,
                               .epochs = o.train.experiment.training.epochs});
  console::print(found.to_string());
  if (!o.save.empty()) found.write_csv(o.save);
  return static_cast<int>(found.healthy() ? ExitCode::ok : ExitCode::diverged);
}

void register_audit(Commands& commands) {
  commands.add<AuditOptions>(
      {.name = "audit",
       .group = Group::train,
       .place = 3,
       .help =
           "compare a few training steps in fp32 and half precision and explain the differences",
       .examples = {{"Check whether a training works in half precision",
                     "learn audit --config runs/train/config.toml --precision fp16"}}},
      [](AuditOptions& o, const Parsed&) { return audit(o); });
}

}  // namespace learn::cli
