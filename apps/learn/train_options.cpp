#include "apps/learn/train_options.h"

#include "apps/learn/command_line.h"
#include "apps/learn/resume.h"
#include "apps/learn/suggest.h"
#include "callbacks/registry.h"
#include "data/registry.h"
#include "framework/core/error.h"
#include "framework/optim/registry.h"
#include "models/registry.h"

#include <algorithm>
#include <optional>

namespace learn::cli {
namespace {

/// Makes an option refuse names that a registry does not know.
template <class Value>
void restrict_to(Option& option, std::string& field, const Registry<Value>& registry) {
  option.set = [&field, kind = option.name, names = registry.names()](const std::string& text) {
    require_known(kind, text, names);
    field = text;
  };
}

void add_data_options(OptionTable& t, TrainOptions& o) {
  t.group("Data");
  std::vector<std::string> sets = data::datasets().names();
  Option& data =
      t.text("data", o.data, "NAME|PATH", join(sets) + ", or a folder or archive of images");
  data.set = [&o, sets](const std::string& text) {
    if (!data::is_path(text)) require_known("data set", text, sets);
    o.data = text;
  };
  t.text("data-dir", o.data_dir, "DIR", "where data sets lie; else $LEARN_DATA, then ./data");
  t.list(
      "classes", o.classes, ',', "A,B,...", "train on these classes only, labelled in this order");
  t.real("val-split",
         o.val_split,
         kShare,
         "SHARE",
         "validate on this share of the training images instead of the test set");
  Option& limit = t.text("train-limit",
                         o.train_limit,
                         "N|SHARE",
                         "so many training images, or a share with a point: 0.1");
  limit.set = [&o](const std::string& text) {
    if (text.find('.') == std::string::npos)
      (void)parse_integer(text, kPositive);
    else
      (void)parse_real(text, {0, 1, true, false});
    o.train_limit = text;
  };
  t.integer("valid-limit", o.valid_limit, kNotNegative, "N", "so many validation images; 0: all");
  t.integer("image-size",
            o.image_size,
            kNotNegative,
            "N",
            "scale pictures of a folder to N x N; 0: as they are");
  t.integer("workers",
            o.workers,
            {0, 64},
            "N",
            "threads that prepare batches; 0: the training thread does it");
  t.integer("prefetch", o.prefetch, {1, 64}, "N", "batches prepared ahead");
}

void add_model_options(OptionTable& t, TrainOptions& o) {
  t.group("Model");
  Option& model = t.text("model", o.model, "NAME", "'learn models' lists them");
  model.short_name = "m";
  restrict_to(model, o.model, models::model_registry());
  t.integer("width", o.width, kNotNegative, "N", "width of the model; 0: its own");
  t.real("dropout", o.dropout, kShare, "P", "dropout, where the model has it");
  t.text("pretrained",
         o.pretrained,
         "FILE",
         "start from these weights; layers that do not fit keep their own");
  t.list("split",
         o.split,
         ',',
         "A,B|auto",
         "modules that begin new layer groups; auto: the model's own cuts");
  Option& freeze = t.text("freeze",
                          o.freeze,
                          "N|body|none",
                          "do not train the first N layer groups, or all but the last");
  freeze.set = [&o](const std::string& text) {
    if (text != "none" && text != "body") (void)parse_integer(text, kPositive);
    o.freeze = text;
  };
}

void add_schedule_options(OptionTable& t, TrainOptions& o) {
  t.group("Schedule");
  t.integer("epochs", o.epochs, {1, 100000}, "N", "passes over the training images").short_name =
      "e";
  t.integer("batch-size", o.batch_size, {1, 1 << 20}, "N", "images per batch").short_name = "b";
  t.integer("accumulate", o.accumulate, {1, 1 << 20}, "N", "batches per update");
  t.numbers("lr",
            o.lr,
            kPositive,
            "X[:Y]",
            "(highest) learning rate; X:Y spreads over layer groups; else 0.1 for sgd, 0.001 for "
            "rmsprop, 0.01");
  t.choice("schedule",
           o.schedule,
           {"one-cycle", "flat-cos", "cosine", "linear", "step", "const"},
           "course of the learning rate");
  t.real("warmup",
         o.warmup,
         kShare,
         "SHARE",
         "share of the training in which the rate rises; else 0.25 with one-cycle, 0");
  Option& optimizer =
      t.text("optimizer", o.optimizer, join(optim::optimizers().names()), "update rule");
  restrict_to(optimizer, o.optimizer, optim::optimizers());
  t.real("momentum",
         o.momentum,
         kShare,
         "M",
         "momentum or beta1; else 0.9, and cycled with one-cycle");
  t.real("weight-decay",
         o.weight_decay,
         kNotNegative,
         "X",
         "decoupled (adam: L2); none on BatchNorm and biases");
  t.real("clip-norm", o.clip_norm, kNotNegative, "X", "largest norm of the gradients; 0: no limit");
  t.group("Regularisation");
  t.choice("augment",
           o.augment,
           {"none", "basic", "full"},
           "basic: shift and mirror; full: and cut a square out");
  t.real("label-smoothing",
         o.label_smoothing,
         kShare,
         "X",
         "share of each target spread over all classes");
  t.real("ema",
         o.ema,
         kShare,
         "DECAY",
         "validate and keep a moving average of the weights, 0.999 say; 0: none");
}

void add_run_options(OptionTable& t, TrainOptions& o) {
  t.group("Precision and device");
  t.choice("precision",
           o.precision,
           {"fp32", "tf32", "fp16", "bf16"},
           "of weights, activations and their gradients; masters are fp32; tf32: fp32, but a GPU "
           "may round the factors of products to 10 bits");
  t.flag(
      "flat-master", o.flat_master, "update all weights in one pass, or one by one; the same bits");
  Option& scale = t.text("loss-scale", o.loss_scale, "X|dynamic", "loss scale of fp16");
  scale.set = [&o](const std::string& text) {
    if (text != "dynamic") (void)parse_real(text, kPositive);
    o.loss_scale = text;
  };
  t.text("device",
         o.device,
         "auto|cpu|cuda[:N]",
         "where to train; auto: a GPU if there is one, see 'learn doctor'");
  t.flag("cuda-graph", o.cuda_graph, "run each training step as one launch on a CUDA device");
  add_cuda_options(t, o.cuda);
  t.integer("threads", o.threads, {0, 1024}, "N", "CPU threads; 0: one per physical core");
  t.integer(
      "seed", o.seed, kNotNegative, "N", "of initial weights, order, augmentation and dropout");
  t.group("Run");
  t.text("out", o.out, "DIR", "folder of the runs");
  t.text("name", o.name, "NAME", "of this run; numbered if it exists");
  t.integer("save-every",
            o.save_every,
            kNotNegative,
            "N",
            "keep a checkpoint each N epochs; 0: last and best only");
  t.text("monitor",
         o.monitor,
         "VALUE",
         "what makes an epoch the best: accuracy, valid_loss, train_loss, ...");
  t.integer("patience",
            o.patience,
            kNotNegative,
            "N",
            "stop after N epochs without a better value; 0: never");
  Option& callbacks = t.list("callbacks",
                             o.callbacks,
                             ';',
                             "SPEC;...",
                             "more callbacks, or others than learn's own of that name: "
                             "'gradient_clip:limit=1,by=value;checkpointer:every=2'; see below");
  callbacks.set = [&o, set_list = callbacks.set](const std::string& text) {
    set_list(text);
    for (const std::string& spec : o.callbacks) (void)callbacks::make_from_text(spec);
  };
  t.flag("plots", o.plots, "draw results.png and lr_schedule.png");
  t.flag("progress", o.progress, "show a bar, or a line now and then, while an epoch runs");
}

void add_call_options(OptionTable& t, TrainOptions& o) {
  t.group("This call");
  t.text("config", o.config, "FILE", "read options from [train] of a TOML file").short_name = "c";
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  t.choice(
      "preset", o.preset, names, "a named set of options: " + [] {
        std::string text;
        for (const Preset& preset : presets())
          text += (text.empty() ? "" : "; ") + preset.name + ": " + preset.help;
        return text;
      }());
  t.text("resume",
         o.resume,
         "RUN|last",
         "resume a run that was stopped, in its folder, from its last checkpoint, as if it had "
         "never stopped; 'last': the latest in --out. After a signal that is the middle of an "
         "epoch, after a crash the end of one");
  t.flag("exist-ok", o.exist_ok, "use runs/NAME again if it exists");
  t.flag("dry-run", o.dry_run, "three batches, memory and time estimate; writes nothing");
  t.flag("fast-dev-run", o.fast_dev_run, "five batches of training and validation; writes nothing");
  t.flag("print-config", o.print_config, "print the resolved configuration and leave");
  t.flag("explain", o.explain, "print the loop with the callbacks at each event and leave");
  for (const char* const name : {"config",
                                 "preset",
                                 "resume",
                                 "exist-ok",
                                 "dry-run",
                                 "fast-dev-run",
                                 "print-config",
                                 "explain"})
    t.keep_out_of_config(name);
}

/// Options that make no sense together are refused, so that none is ignored.
void check_combinations(const TrainOptions& o) {
  if (o.loss_scale != "dynamic" && o.precision != "fp16")
    fail<UsageError>("--loss-scale needs --precision fp16, not {}", o.precision);
  for (const std::string& spec : o.callbacks)
    if (o.save_every > 0 && spec.substr(0, spec.find(':')) == "checkpointer")
      fail<UsageError>("--save-every {} has no effect beside --callbacks {}: give every={} there",
                       o.save_every,
                       spec,
                       o.save_every);
  if (!o.resume.empty() && (o.exist_ok || o.dry_run || o.fast_dev_run))
    fail<UsageError>("--resume cannot go with --exist-ok, --dry-run or --fast-dev-run");
  if (o.schedule == "const" && o.warmup.value_or(0) == 0) return;
  if (o.schedule == "one-cycle" && o.warmup && *o.warmup == 0)
    fail<UsageError>("--schedule one-cycle needs a --warmup above 0");
}

}  // namespace

void add_cuda_options(OptionTable& t, CudaOptions& o) {
  t.flag("deterministic", o.deterministic, "CUDA: only algorithms with the same bits in every run");
  t.flag("tune", o.tune, "CUDA: time each convolution's best algorithms when it first runs");
  t.text("plan-cache",
         o.plan_cache,
         "DIR",
         "CUDA: keep the algorithms chosen for convolutions here, from run to run");
}

CudaOptions cuda_options(CudaOptions options, const std::string& precision) {
  options.tf32 = precision == "tf32";
  return options;
}

OptionTable train_table(TrainOptions& options) {
  OptionTable table;
  add_data_options(table, options);
  add_model_options(table, options);
  add_schedule_options(table, options);
  add_run_options(table, options);
  add_call_options(table, options);
  return table;
}

std::string train_notes() {
  const auto registry = callbacks::callback_registry();
  std::string text = "Callbacks for --callbacks, as NAME or NAME:OPTION=VALUE,...\n";
  for (const auto& [name, entry] : registry.entries())
    text += fmt::format("  {:<24}{}\n", name, entry.help);
  return text;
}

void resolve(TrainOptions& options, const OptionTable& table, const Values& command_line) {
  const auto given = [&](std::string_view name) {
    std::string value;
    for (const auto& [key, text] : command_line)
      if (key == name) value = text;
    return value;
  };
  const std::string preset = given("preset");
  const std::string config = given("config");
  std::string resume = given("resume");
  std::optional<ResumeGuard> guard;
  if (!resume.empty()) {
    const std::string out = given("out");
    resume = find_run(resume, out.empty() ? options.out : out).string();
    set_saved_options(table, resume);
    guard.emplace(table);
  }
  if (!preset.empty()) {
    set_options(table, {{"preset", preset}});
    const auto found = std::find_if(
        presets().begin(), presets().end(), [&](const Preset& p) { return p.name == preset; });
    set_options(table, found->values);
  }
  if (!config.empty()) set_options(table, read_config(config, "train", table));
  set_options(table, command_line);
  if (guard) guard->check(table);
  options.resume = resume;
  check_combinations(options);
}

optim::LearningRates learning_rates(const TrainOptions& options) {
  const std::vector<float>& given = options.lr;
  if (given.size() > 2) return optim::LearningRates(given);
  const auto rate = [&](std::size_t i) { return static_cast<double>(given[i]); };
  if (given.size() == 2) return optim::range(rate(0), rate(1));
  if (given.size() == 1) return rate(0);
  if (options.optimizer == "sgd") return 0.1;
  return options.optimizer == "rmsprop" ? 0.001 : 0.01;
}

}  // namespace learn::cli
