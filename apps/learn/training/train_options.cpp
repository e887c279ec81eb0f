#include "apps/learn/training/train_options.h"

#include "apps/experiment/config_file.h"
#include "apps/experiment/saved_run.h"
#include "apps/learn/training/auto_resume.h"
#include "framework/runs/saved_weights.h"

#include <algorithm>
#include <optional>
#include <set>

namespace learn::cli {
namespace {

void add_call_options(OptionTable& t, TrainOptions& o) {
  const std::size_t first = t.all().size();
  t.group("This call");
  t.text("config", o.config, "FILE", "read options from [train] of a TOML file").short_name = "c";
  std::vector<std::string> names;
  std::string presets_help = "a named set of options";
  for (const Preset& preset : presets()) {
    names.push_back(preset.name);
    presets_help += fmt::format("; {}: {}", preset.name, preset.help);
  }
  t.choice("preset", o.preset, names, presets_help);
  t.text("resume",
         o.resume,
         "RUN|last|auto",
         "resume an interrupted run in its folder from its last checkpoint, with the same bits as "
         "an uninterrupted one on the same kind of processor or GPU; name of a run in --out, its "
         "folder, or 'last' for the latest. After a signal it continues in the middle of an epoch, "
         "after a crash at the end of one. 'auto', for jobs that are started again by the same "
         "command: resume the run of --name if it has a checkpoint, otherwise start it in exactly "
         "that folder");
  t.number("extend",
           o.extend,
           {.low = 0, .high = 100000},
           "N",
           "train the finished run of --resume for N more epochs with a separate schedule; --lr, "
           "--schedule and --warmup may change");
  t.flag("exist-ok",
         o.exist_ok,
         "reuse runs/NAME if it exists; the previous run is kept in runs/NAME/former-1");
  t.flag("dry-run",
         o.dry_run,
         "train and validate for a second each, show memory, speed and time, and write nothing");
  t.flag("fast-dev-run", o.fast_dev_run, "train and validate five batches each; write nothing");
  t.flag("params",
         o.params,
         "print each parameter's group, rate, decay, precision and memory, flag likely mistakes, "
         "and exit");
  t.flag("print-config", o.print_config, "print the resolved configuration and exit");
  t.flag("explain", o.explain, "print the loop with the callbacks at each event and exit");
  for (std::size_t i = first; i < t.all().size(); ++i) t.keep_out_of_config(t.all()[i].name);
}

/// Only one of the modes that do not write a run is allowed.
void check_call(const TrainOptions& o) {
  std::vector<std::string> trials;
  for (const auto& [given, name] : {std::pair{o.dry_run, "--dry-run"},
                                    {o.fast_dev_run, "--fast-dev-run"},
                                    {o.params, "--params"},
                                    {o.print_config, "--print-config"},
                                    {o.explain, "--explain"}})
    if (given) trials.emplace_back(name);
  if (trials.size() > 1) fail<UsageError>("{} cannot be combined", join(trials, " and "));
  if (o.exist_ok && !trials.empty())
    fail<UsageError>("--exist-ok has no effect with {}: it writes nothing", trials.front());
  if (!o.resume.empty() && (o.exist_ok || o.dry_run || o.fast_dev_run || o.params))
    fail<UsageError>("--resume cannot go with --exist-ok, --dry-run, --fast-dev-run or --params");
  if (o.experiment.training.fine_tune > 0 && o.experiment.model.pretrained.empty())
    fail<UsageError>("--fine-tune {} has no effect without --pretrained RUN",
                     o.experiment.training.fine_tune);
  if (o.resume.empty() && o.extend > 0)
    fail<UsageError>("--extend {} has no effect without --resume RUN", o.extend);
}

std::set<std::string> names_of(const OptionValues& values) {
  std::set<std::string> names;
  for (const auto& [name, text] : values) names.insert(name);
  return names;
}

const Preset& preset_of(const std::string& name) {
  return *std::ranges::find(presets(), name, &Preset::name);
}

/// Given options stay, and a mixed_precision in --callbacks has its own.
void set_fp16_options(const ExperimentOptions& options,
                      const OptionTable& table,
                      const Preset& preset,
                      const std::set<std::string>& given) {
  if (options.precision.chosen() != "fp16" || options.precision_callback() != nullptr) return;
  for (const auto& value : preset.in_fp16)
    if (!given.contains(value.first)) set_options(table, OptionValues{value});
}

}  // namespace

OptionTable TrainOptions::table() {
  OptionTable table = experiment.table();
  add_call_options(table, *this);
  table.mark_rare({"data-dir",        "train-limit",   "valid-limit",
                   "normalize",       "workers",       "prefetch",
                   "width",           "dropout",       "split",
                   "train-bn",        "accumulate",    "shrink-batch",
                   "warmup",          "momentum",      "clip-norm",
                   "mixup",           "cutmix",        "ema",
                   "train-metrics",   "opt-level",     "keep-fp32",
                   "loss-scale",      "flat-master",   "cuda-graph",
                   "winograd",        "deterministic", "tune",
                   "plan-cache",      "threads",       "save-every",
                   "monitor",         "nan",           "inject",
                   "plots",           "report",        "progress",
                   "extend",          "exist-ok",      "fast-dev-run",
                   "params",          "print-config",  "explain",
                   "label-smoothing", "class-weights", "drop-last"});
  return table;
}

namespace {

/// The options of a call, without those that a run has saved.
TrainOptions asked_for(const OptionValues& command_line) {
  TrainOptions asked;
  const OptionTable table = asked.table();
  set_options(table, command_line);
  if (!asked.preset.empty()) set_options(table, preset_of(asked.preset).values);
  if (!asked.config.empty()) set_options(table, read_config(asked.config, "train", table));
  set_options(table, command_line);
  return asked;
}

}  // namespace

void TrainOptions::resolve(const OptionTable& table, const OptionValues& command_line) {
  const auto given = [&](std::string_view name) {
    std::string value;
    for (const auto& [key, text] : command_line)
      if (key == name) value = text;
    return value;
  };
  const std::string wanted_preset = given("preset");
  const std::string file = given("config");
  std::string run = given("resume");
  const bool automatic = run == kAutoResume;
  TrainOptions asked;
  std::optional<ResumeGuard> guard;
  if (automatic) {
    asked = asked_for(command_line);
    check_call(asked);
    const AutoRun found = find_auto_run(asked);
    run = found.folder;
    if (!run.empty()) {
      set_options(table, parse_config(found.config, "the options of " + run, "train", table));
      experiment.run.name = asked.experiment.run.name;  // a run that was numbered has another
      guard.emplace(experiment, table);
    }
  } else if (!run.empty()) {
    const std::string out = given("out");
    if (!out.empty() && run.find('/') != std::string::npos)
      fail<UsageError>("--out {} has no effect: the run to resume is '{}'", out, run);
    run = find_run(run, out.empty() ? experiment.run.out : out).string();
    set_saved_options(table, run);
    warn_of_edited_config(run);
    guard.emplace(experiment, table);
  }
  const TrainingSection saved = experiment.training;
  if (!wanted_preset.empty()) {
    set_options(table, {{"preset", wanted_preset}});
    set_options(table, preset_of(wanted_preset).values);
  }
  std::set<std::string> over_preset = names_of(command_line);
  if (!file.empty()) {
    const ConfigFile values = read_config(file, "train", table);
    for (const ConfigEntry& entry : values.entries) over_preset.insert(entry.name);
    set_options(table, values);
  }
  PrecisionSection& precision = experiment.precision;
  precision.settle();
  const PrecisionSection before = precision;
  set_options(table, command_line);
  precision.settle();
  if (automatic && guard) keep_halved_batch(experiment.training, saved, asked.experiment.training);
  experiment.leave_out_without_effect(names_of(command_line));
  if (!guard) precision.change_from(before, names_of(command_line));
  if (!wanted_preset.empty())
    set_fp16_options(experiment, table, preset_of(wanted_preset), over_preset);
  if (guard) guard->check(experiment, table, over_preset, extend > 0);
  resume = run;
  // Another run may be the latest one when the configuration is read again.
  if (std::string& from = experiment.model.pretrained; from == "last" && run.empty())
    from = run_folder(from, experiment.run.out).string();
  if (extend > 0) experiment.training.epochs = extend;
  check_call(*this);
  exist_ok = exist_ok || (automatic && run.empty());
  experiment.check();
}

OptionTable some_of_train(TrainOptions& options, const std::vector<std::string>& kept) {
  const OptionTable all = options.table();
  std::vector<std::string> left_out = all.names();
  for (const std::string& name : kept)
    check<std::logic_error>(
        std::erase(left_out, name) == 1, "option '{}' to keep does not exist", name);
  return all.without(left_out);
}

OptionTable steps_of_train(TrainOptions& options) {
  return options.table().without(
      {"epochs", "schedule", "warmup",       "valid-limit",  "shrink-batch", "ema",
       "out",    "name",     "save-every",   "monitor",      "patience",     "nan",
       "plots",  "progress", "resume",       "extend",       "exist-ok",     "dry-run",
       "params", "explain",  "fast-dev-run", "print-config", "metrics",      "train-metrics",
       "report", "rank-logs"});
}

OptionTable TrialOptions::without_effect() {
  const OptionTable all = ignored_.table();
  const OptionTable used = table();
  std::vector<std::string> names;
  for (const std::string& name : all.names())
    if (used.find(name) != nullptr) names.push_back(name);
  return all.without(names);
}

void TrialOptions::resolve_some(const std::vector<std::string>& kept,
                                const OptionTable& table,
                                const OptionValues& command_line) {
  const OptionTable all = train.table();  // a configuration file may have them
  OptionValues of_training;
  for (const auto& value : command_line) {
    if (std::ranges::find(kept, value.first) != kept.end())
      of_training.push_back(value);
    else
      set_options(table, {value});
  }
  train.resolve(all, of_training);
}

}  // namespace learn::cli
