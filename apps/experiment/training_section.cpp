#include "apps/experiment/training_section.h"

#include "apps/experiment/fine_tuning.h"
#include "apps/experiment/spec_flag.h"
#include "callbacks/ema.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/mix/mix.h"
#include "data/loading/augmentation.h"
#include "data/loading/sampling.h"
#include "framework/interfaces/refuse_targets.h"
#include "framework/learner/param_scheduler.h"
#include "framework/metrics/metric_registry.h"
#include "framework/nn/loss_registry.h"
#include "framework/optim/registry.h"
#include "framework/runtime/transfer.h"

#include <array>

namespace learn {
namespace {

constexpr double kUsualWeightDecay = 0.01;
constexpr double kUsualTuningRate = 2e-3;
const char* const kBalanced = "balanced";
const char* const kOneCycle = "one-cycle";
constexpr std::array kTargetKinds{TargetKind::classes, TargetKind::labels, TargetKind::values};
constexpr std::size_t kManyClasses = 11;  ///< enough for the top 5 to be informative

Spec optimizer_spec(const TrainingSection& o, bool flat) {
  Spec spec = Spec::parse(o.optimizer);
  const auto registry = optim::optimizer_registry();
  if (o.momentum) add_flag(spec, registry, "momentum", "momentum", fmt::format("{}", *o.momentum));
  if (o.weight_decay)
    add_flag(spec, registry, "weight-decay", "weight_decay", fmt::format("{}", *o.weight_decay));
  else if (!has_option(spec, "weight_decay"))
    spec.options.emplace_back("weight_decay", fmt::format("{}", kUsualWeightDecay));
  if (!flat) add_flag(spec, registry, "flat-master", "flat", "false");
  return spec;
}

Spec schedule_spec(const TrainingSection& o) {
  Spec spec = Spec::parse(o.schedule);
  if (o.warmup)
    add_flag(spec, optim::schedule_registry(), "warmup", "warmup", fmt::format("{}", *o.warmup));
  return spec;
}

Spec loss_spec(const TrainingSection& o, TargetKind targets) {
  Spec spec = Spec::parse(o.loss.empty() ? nn::usual_loss(targets) : o.loss);
  if (o.label_smoothing > 0)
    add_flag(spec,
             nn::loss_registry(),
             "label-smoothing",
             "label_smoothing",
             fmt::format("{}", o.label_smoothing));
  return spec;
}

Tensor weights_of(Context& ctx, const TrainingSection& o, const data::Dataset& train) {
  std::vector<float> weights;
  if (o.class_weights.front() == kBalanced)
    weights = data::class_weights(train);
  else
    for (const std::string& text : o.class_weights)
      weights.push_back(static_cast<float>(parse_real(text, kPositive)));
  if (weights.size() != train.classes.size())
    fail<UsageError>("--class-weights {}: {} weights for the {} classes of '{}' ({})",
                     join(o.class_weights, ","),
                     weights.size(),
                     train.classes.size(),
                     train.name,
                     join(train.classes));
  const Shape shape{static_cast<std::int64_t>(weights.size())};
  return to_device(ctx, ctx.persistent(), host_tensor<float>(shape, weights));
}

/// Returns the loss that was chosen, or that fits the targets.
nn::Loss loss_for(Context& ctx, const data::Dataset& train, const TrainingSection& o) {
  const Spec spec = loss_spec(o, train.target_kind);
  const nn::NamedLoss loss = nn::loss_registry().make(spec)();
  if (loss.targets != train.target_kind)
    refuse_targets(
        nn::loss_registry(), spec.name, loss.targets, "'" + train.name + "'", train.target_kind);
  if (o.class_weights.empty()) return loss.make({});
  if (!loss.weighs_classes)
    fail<UsageError>("--class-weights {} has no effect: loss '{}' does not support class weights",
                     join(o.class_weights, ","),
                     spec.name);
  return loss.make(weights_of(ctx, o, train));
}

/// Returns the default metrics.
std::vector<std::string> usual_metrics_of(TargetKind targets, std::size_t classes) {
  if (targets == TargetKind::labels) return {"accuracy_multi"};
  if (targets == TargetKind::values) return {"mae"};
  if (classes >= kManyClasses) return {"accuracy", "top_k"};
  return {"accuracy"};
}

/// Returns the default of an option of the object that `spec` names; nothing if that object has no
/// such option or `spec` sets it.
template <class Signature>
std::vector<std::string> usual_of(const Registry<Signature>& registry,
                                  const std::string& text,
                                  const char* option) {
  const Spec spec = Spec::parse(text);
  const auto configured = registry.configure(spec.name);
  const Option* const found = configured.options.find(option);
  if (found == nullptr || has_option(spec, option)) return {};
  return {found->usual};
}

bool moves_momentum(const std::string& schedule) {
  return optim::schedule_registry().make(schedule)(1, 1).momentum != nullptr;
}

void declare_momentum(OptionTable& t, TrainingSection& o) {
  constexpr const char* kBySchedule = "schedule";
  Option& momentum =
      t.number("momentum",
               o.momentum,
               kShare,
               "M|schedule",
               "momentum or beta1; schedule: set by the schedule, or the optimizer's default");
  momentum.kind = OptionKind::text;
  momentum.when_absent = "the optimizer's, cycled with one-cycle";
  momentum.set = [&o, set = momentum.set](const std::string& text) {
    if (text == kBySchedule)
      o.momentum.reset();
    else
      set(text);
  };
  momentum.by_default = [&o]() -> std::vector<std::string> {
    if (moves_momentum(o.schedule)) return {toml_text(kBySchedule)};
    return usual_of(optim::optimizer_registry(), o.optimizer, "momentum");
  };
  momentum.clear = [&o] { o.momentum.reset(); };
}

/// Returns "0.01 for adam, ..."
std::string usual_rates() {
  const auto registry = optim::optimizer_registry();
  std::string text;
  for (const std::string& name : registry.names())
    text +=
        fmt::format("{}{} for {}", text.empty() ? "" : ", ", registry.make(name)().usual_lr, name);
  return text;
}

void declare_loss(OptionTable& t, TrainingSection& o) {
  t.group("Loss");
  Option& loss = declare_spec(t,
                              "loss",
                              o.loss,
                              nn::loss_registry(),
                              join(nn::loss_registry().names(), "|"),
                              "loss function");
  loss.when_absent = "by the targets: " + nn::usual_loss(TargetKind::classes) + " of classes, " +
                     nn::usual_loss(TargetKind::labels) + " of several labels, " +
                     nn::usual_loss(TargetKind::values) + " of real numbers";
  loss.toml = [&o] { return o.loss.empty() ? std::string() : toml_text(o.loss); };
  loss.by_default = [&o] {
    std::vector<std::string> usual;
    if (!o.usual_loss.empty()) return std::vector<std::string>{toml_text(o.usual_loss)};
    for (const TargetKind kind : kTargetKinds) usual.push_back(toml_text(nn::usual_loss(kind)));
    return usual;
  };
  loss.clear = [&o] { o.loss.clear(); };
  Option& weights = t.list("class-weights",
                           o.class_weights,
                           ',',
                           "balanced|X,...",
                           "weight of each class in the loss, in order; balanced: each class has "
                           "the same share of the loss");
  weights.set = [&o, set_list = weights.set](const std::string& text) {
    set_list(text);
    if (o.class_weights == std::vector<std::string>{kBalanced}) return;
    for (const std::string& weight : o.class_weights) (void)parse_real(weight, kPositive);
  };
  t.number("label-smoothing", o.label_smoothing, kShare, "X", "label smoothing of the loss");
}

void declare_regularization(OptionTable& t, TrainingSection& o) {
  t.group("Regularization");
  Option& augment =
      t.text("augment",
             o.augment,
             "CHAIN",
             "steps and lists of steps with '|' between them; basic: random shift and "
             "flip; full: also cutout; 'learn options augmentation' has all");
  augment.set = [&o](const std::string& text) {
    constexpr std::int64_t kAnySide = 32;
    (void)data::augmentation(text, kAnySide, kAnySide);
    o.augment = text;
  };
  t.number(
      "mixup",
      o.mixup,
      kNotNegative,
      "A",
      "mix each image and its target with another of the batch, by a share from Beta(A, A), e.g. "
      "0.2; 0: no");
  t.number("cutmix",
           o.cutmix,
           kNotNegative,
           "A",
           "put a box of another image into each, e.g. 1; with --mixup, a batch has either; 0: no");
  t.number("ema",
           o.ema,
           kShare,
           "DECAY",
           "keep and validate a moving average of the weights, e.g. 0.999; 0: none");
}

void declare_metrics(OptionTable& t, TrainingSection& o) {
  t.group("Metrics");
  Option& metrics =
      declare_metric_specs(t, o.metrics, "metrics of validation in addition to the loss");
  metrics.when_absent =
      "accuracy, and top_k where there are more than 10 classes; accuracy_multi of several labels; "
      "mae of real numbers";
  metrics.by_default = [&o] {
    if (!o.usual_metrics.empty()) return std::vector<std::string>{toml_list(o.usual_metrics)};
    std::vector<std::string> usual;
    for (const TargetKind kind : kTargetKinds)
      usual.push_back(toml_list(usual_metrics_of(kind, 2)));
    usual.push_back(toml_list(usual_metrics_of(TargetKind::classes, kManyClasses)));
    return usual;
  };
  metrics.clear = [&o] { o.metrics.clear(); };
  t.flag("train-metrics",
         o.train_metrics,
         "also measure the training images, as train_NAME, on the predictions of training "
         "(augmented images, a changing model)");
}

}  // namespace

Option& declare_metric_specs(OptionTable& t, std::vector<std::string>& field, std::string help) {
  Option& option = t.list("metrics",
                          field,
                          ',',
                          "SPEC,...",
                          std::move(help) + ": " + join(metric_registry().names(), ", ") +
                              "; 'learn options metric' has their options");
  option.set = [&field, set_list = option.set](const std::string& text) {
    set_list(text);
    (void)make_metrics(field);
  };
  return option;
}

void TrainingSection::declare(OptionTable& t) {
  t.group("Schedule");
  t.number("epochs", epochs, {.low = 1, .high = 100000}, "N", "passes over the training images")
      .short_name = "e";
  Option& tuned = t.number("fine-tune",
                           fine_tune,
                           {.low = 0, .high = 99999},
                           "N",
                           "fine-tune --pretrained weights as fastai's fine_tune: an epoch of the "
                           "last layer group, then N of all, at rates from --lr / 200 to --lr / 2; "
                           "0: no");
  tuned.set = [this, set = tuned.set](const std::string& text) {
    set(text);
    if (fine_tune > 0) epochs = fine_tune + FineTuneOptions{}.freeze_epochs;
  };
  t.number("batch-size", batch_size, {.low = 1, .high = 1 << 20}, "N", "images per batch")
      .short_name = "b";
  t.number("accumulate", accumulate, {.low = 1, .high = 1 << 20}, "N", "batches per update");
  t.flag("shrink-batch",
         shrink_batch,
         "if memory runs out in the first epoch, start again with half the batch size and twice "
         "--accumulate, up to 3 times; BatchNorm then uses the smaller batches")
      .may_change = true;
  Option& rate = t.numbers(
      "lr", lr, kPositive, "X[:Y]", "(peak) learning rate; X:Y: a range over the layer groups");
  rate.when_absent =
      fmt::format("{} with --fine-tune, else by optimizer, {}", kUsualTuningRate, usual_rates());
  rate.by_default = [this] {
    const double usual =
        fine_tune > 0 ? kUsualTuningRate : optim::optimizer_registry().make(optimizer)().usual_lr;
    return std::vector<std::string>{fmt::format("[{}]", usual)};
  };
  rate.clear = [this] { lr.clear(); };
  declare_spec(
      t,
      "schedule",
      schedule,
      optim::schedule_registry(),
      join(optim::schedule_registry().names(), "|"),
      "learning rate schedule; const allows a param_scheduler in --callbacks to set the rate");
  Option& rise =
      t.number("warmup", warmup, kShare, "SHARE", "share of the training with a rising rate");
  rise.when_absent = "0.25 with one-cycle, else 0";
  rise.by_default = [this] {
    // A constant rate without a rise is not a schedule, see `add_schedule`.
    return schedule == "const" ? std::vector<std::string>()
                               : usual_of(optim::schedule_registry(), schedule, "warmup");
  };
  rise.clear = [this] { warmup.reset(); };
  declare_spec(t,
               "optimizer",
               optimizer,
               optim::optimizer_registry(),
               join(optim::optimizer_registry().names(), "|"),
               "optimizer");
  declare_momentum(t, *this);
  Option& decay = t.number("weight-decay",
                           weight_decay,
                           kNotNegative,
                           "X",
                           "weight decay, decoupled (adam: L2); BatchNorm and biases are exempt");
  decay.when_absent = fmt::format("{}", kUsualWeightDecay);
  decay.by_default = [this] {
    return has_option(Spec::parse(optimizer), "weight_decay")
               ? std::vector<std::string>()
               : std::vector<std::string>{fmt::format("{}", kUsualWeightDecay)};
  };
  decay.clear = [this] { weight_decay.reset(); };
  t.number("clip-norm", clip_norm, kNotNegative, "X", "maximum norm of the gradients; 0: no limit");
  declare_loss(t, *this);
  declare_regularization(t, *this);
  declare_metrics(t, *this);
}

void TrainingSection::check() const {
  if (fine_tune > 0 && (schedule != kOneCycle || warmup || lr.size() > 1))
    fail<UsageError>(
        "--fine-tune {} has its own schedule: omit --schedule and --warmup, and give --lr one "
        "number",
        fine_tune);
  (void)optim::schedule_registry().make(schedule_spec(*this))(1, 1);
  (void)optim::optimizer_registry().make(optimizer_spec(*this, true));
  if (!loss.empty()) (void)nn::loss_registry().make(loss_spec(*this, {}));
  (void)make_metrics(metrics);
}

void TrainingSection::know(const data::Dataset& train) {
  usual_loss = nn::usual_loss(train.target_kind);
  usual_metrics = usual_metrics_of(train.target_kind, train.classes.size());
}

void TrainingSection::leave_out_without_effect(const std::set<std::string>& given) {
  const auto left_out = [&](const char* option, const char* beside) {
    return given.contains(beside) && !given.contains(option);
  };
  if (fine_tune > 0) {
    if (given.contains("epochs"))
      fail<UsageError>("--epochs has no effect with --fine-tune {0}, which takes 1 + {0} epochs",
                       fine_tune);
    if (left_out("schedule", "fine-tune")) schedule = kOneCycle;
    if (left_out("warmup", "fine-tune")) warmup.reset();
    if (left_out("lr", "fine-tune") && lr.size() > 1) lr.clear();
  }
  const Spec of_optimizer = Spec::parse(optimizer);
  if (left_out("momentum", "optimizer") && has_option(of_optimizer, "momentum")) momentum.reset();
  if (left_out("weight-decay", "optimizer") && has_option(of_optimizer, "weight_decay"))
    weight_decay.reset();
  const Spec of_schedule = Spec::parse(schedule);
  if (left_out("warmup", "schedule") &&
      !takes_flag(of_schedule, optim::schedule_registry(), "warmup"))
    warmup.reset();
  if (!given.contains("loss") || loss.empty()) return;
  const Spec of_loss = Spec::parse(loss);
  if (left_out("label-smoothing", "loss") &&
      !takes_flag(of_loss, nn::loss_registry(), "label_smoothing"))
    label_smoothing = 0;
  if (left_out("class-weights", "loss") && !nn::loss_registry().make(of_loss)().weighs_classes)
    class_weights.clear();
}

bool TrainingSection::halve_batch() {
  if (batch_size == 1) return false;
  batch_size /= 2;
  accumulate *= 2;
  return true;
}

double TrainingSection::base_rate() const { return lr.empty() ? kUsualTuningRate : lr.front(); }

optim::LearningRates TrainingSection::learning_rates() const {
  if (fine_tune > 0) return fine_tuning_rates(base_rate());
  if (lr.size() > 2) return optim::LearningRates(lr);
  if (lr.size() == 2) return optim::range(lr[0], lr[1]);
  if (lr.size() == 1) return lr[0];
  return optim::optimizer_registry().make(optimizer)().usual_lr;
}

LearnerOptions TrainingSection::learner_options(Context& ctx,
                                                bool flat,
                                                const data::Dataset& train) const {
  LearnerOptions options;
  options.loss = loss_for(ctx, train, *this);
  options.optimizer = optim::optimizer_registry().make(optimizer_spec(*this, flat))().make;
  options.metrics = make_metrics(
      metrics.empty() ? usual_metrics_of(train.target_kind, train.classes.size()) : metrics);
  check_targets(options.metrics, train.target_kind, "'" + train.name + "'");
  options.train_metrics = train_metrics;
  options.lr = learning_rates();
  options.report = Report::off;
  return options;
}

void TrainingSection::add_schedule(Learner& learn) const {
  const Spec spec = schedule_spec(*this);
  const auto make = optim::schedule_registry().make(spec);
  const std::int64_t steps = epochs * learn.train_source().batches();
  const auto course = [&](double rate) {
    optim::Course out = make(rate, steps);
    if (momentum) out.momentum = {};
    return out;
  };
  // A constant rate needs no scheduler, so that a callback of --callbacks may set it.
  if (spec.name != "const" || !spec.options.empty())
    learn.add<ParamScheduler>(scheduled(learning_rates(), learn.params().layer_groups(), course),
                              Clock::batch,
                              spec.name);
}

void TrainingSection::add_callbacks(Learner& learn) const {
  if (fine_tune > 0)
    add_fine_tuning(learn, base_rate(), epochs, momentum.has_value());
  else
    add_schedule(learn);
  if (mixup > 0 || cutmix > 0)
    learn.add<callbacks::Mix>(callbacks::MixOptions{.mixup = mixup, .cutmix = cutmix});
  if (accumulate > 1)
    learn.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{.batches = accumulate});
  if (clip_norm > 0) learn.add<callbacks::GradientClip>(static_cast<float>(clip_norm));
  if (ema > 0) learn.add<callbacks::Ema>(EmaOptions{.decay = ema});
}

}  // namespace learn
