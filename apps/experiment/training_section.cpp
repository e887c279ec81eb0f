#include "apps/experiment/training_section.h"

#include "apps/experiment/spec_flag.h"
#include "callbacks/ema.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "data/sampling.h"
#include "data/transforms.h"
#include "framework/interfaces/refuse_targets.h"
#include "framework/learner/metric_registry.h"
#include "framework/learner/param_scheduler.h"
#include "framework/nn/loss_registry.h"
#include "framework/optim/registry.h"
#include "framework/runtime/transfer.h"

namespace learn {
namespace {

constexpr double kUsualWeightDecay = 0.01;
const char* const kBalanced = "balanced";

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

/// The loss that was asked for, or fits the targets.
nn::Loss loss_for(Context& ctx, const data::Dataset& train, const TrainingSection& o) {
  const Spec spec = loss_spec(o, train.target_kind);
  const nn::NamedLoss loss = nn::loss_registry().make(spec)();
  if (loss.targets != train.target_kind)
    refuse_targets(
        nn::loss_registry(), spec.name, loss.targets, "'" + train.name + "'", train.target_kind);
  if (o.class_weights.empty()) return loss.make({});
  if (!loss.weighs_classes)
    fail<UsageError>("--class-weights {} has no effect: loss '{}' weighs no classes",
                     join(o.class_weights, ","),
                     spec.name);
  return loss.make(weights_of(ctx, o, train));
}

/// What is measured unless it is said.
std::vector<Metric> usual_metrics(const data::Dataset& train) {
  if (train.target_kind == TargetKind::labels) return {metrics::accuracy_multi()};
  if (train.target_kind == TargetKind::values) return {metrics::mae()};
  constexpr int kTop = 5;
  std::vector<Metric> usual{metrics::accuracy()};
  if (train.classes.size() > std::size_t{2} * kTop) usual.push_back(metrics::top_k(kTop));
  return usual;
}

/// "0.01 for adam, ..."
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
  declare_spec(t,
               "loss",
               o.loss,
               nn::loss_registry(),
               join(nn::loss_registry().names(), "|"),
               "what is minimised")
      .when_absent = "by the targets: " + nn::usual_loss(TargetKind::classes) + " of classes, " +
                     nn::usual_loss(TargetKind::labels) + " of several labels, " +
                     nn::usual_loss(TargetKind::values) + " of real numbers";
  Option& weights = t.list("class-weights",
                           o.class_weights,
                           ',',
                           "balanced|X,...",
                           "what each class counts in the loss, in their order; balanced: all have "
                           "the same share in it, however many images they have");
  weights.set = [&o, set_list = weights.set](const std::string& text) {
    set_list(text);
    if (o.class_weights == std::vector<std::string>{kBalanced}) return;
    for (const std::string& weight : o.class_weights) (void)parse_real(weight, kPositive);
  };
  t.number("label-smoothing", o.label_smoothing, kShare, "X", "label smoothing of the loss");
}

void declare_regularisation(OptionTable& t, TrainingSection& o) {
  t.group("Regularisation");
  t.choice("augment",
           o.augment,
           data::augmentation_names(),
           "basic: random shift and flip; full: also cutout");
  t.number("ema",
           o.ema,
           kShare,
           "DECAY",
           "keep and validate a moving average of the weights, e.g. 0.999; 0: none");
}

void declare_metrics(OptionTable& t, TrainingSection& o) {
  t.group("Metrics");
  declare_metric_specs(t, o.metrics, "what validation measures beside the loss").when_absent =
      "accuracy, and top_k where there are more than 10 classes; accuracy_multi of several labels; "
      "mae of real numbers";
  t.flag("train-metrics",
         o.train_metrics,
         "the same of the training images, as train_NAME: of what training computes anyway, with a "
         "model that moves and augmented images");
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
  t.number("batch-size", batch_size, {.low = 1, .high = 1 << 20}, "N", "images per batch")
      .short_name = "b";
  t.number("accumulate", accumulate, {.low = 1, .high = 1 << 20}, "N", "batches per update");
  t.flag("shrink-batch",
         shrink_batch,
         "where memory runs out in the first epoch, begin again with half the batch size and twice "
         "--accumulate, up to 3 times; BatchNorm sees the smaller batches")
      .may_change = true;
  t.numbers(
       "lr", lr, kPositive, "X[:Y]", "(peak) learning rate; X:Y is spread over the layer groups")
      .when_absent = "by optimizer, " + usual_rates();
  declare_spec(t,
               "schedule",
               schedule,
               optim::schedule_registry(),
               join(optim::schedule_registry().names(), "|"),
               "learning rate schedule; const leaves the rate to a param_scheduler of --callbacks");
  t.number("warmup", warmup, kShare, "SHARE", "share of the training in which the rate rises")
      .when_absent = "0.25 with one-cycle, else 0";
  declare_spec(t,
               "optimizer",
               optimizer,
               optim::optimizer_registry(),
               join(optim::optimizer_registry().names(), "|"),
               "optimizer");
  t.number("momentum", momentum, kShare, "M", "momentum or beta1").when_absent =
      "the optimizer's, cycled with one-cycle";
  t.number("weight-decay",
           weight_decay,
           kNotNegative,
           "X",
           "weight decay, decoupled (adam: L2); BatchNorm and biases are exempt")
      .when_absent = fmt::format("{}", kUsualWeightDecay);
  t.number("clip-norm", clip_norm, kNotNegative, "X", "maximum norm of the gradients; 0: no limit");
  declare_loss(t, *this);
  declare_regularisation(t, *this);
  declare_metrics(t, *this);
}

void TrainingSection::check() const {
  (void)optim::schedule_registry().make(schedule_spec(*this))(1, 1);
  (void)optim::optimizer_registry().make(optimizer_spec(*this, true));
  if (!loss.empty()) (void)nn::loss_registry().make(loss_spec(*this, {}));
  (void)make_metrics(metrics);
}

bool TrainingSection::halve_batch() {
  if (batch_size == 1) return false;
  batch_size /= 2;
  accumulate *= 2;
  return true;
}

optim::LearningRates TrainingSection::learning_rates() const {
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
  options.metrics = metrics.empty() ? usual_metrics(train) : make_metrics(metrics);
  check_targets(options.metrics, train.target_kind, "'" + train.name + "'");
  options.train_metrics = train_metrics;
  options.lr = learning_rates();
  options.report = Report::off;
  return options;
}

void TrainingSection::add_callbacks(Learner& learn) const {
  const Spec spec = schedule_spec(*this);
  const auto make = optim::schedule_registry().make(spec);
  const std::int64_t steps = epochs * learn.train_source().batches();
  const auto course = [&](double rate) {
    optim::Course out = make(rate, steps);
    if (momentum) out.momentum = {};
    return out;
  };
  // A constant rate needs no scheduler, and leaves it to one of --callbacks.
  if (spec.name != "const" || !spec.options.empty())
    learn.add<ParamScheduler>(scheduled(learning_rates(), learn.params().layer_groups(), course),
                              Clock::batch,
                              spec.name);
  if (accumulate > 1)
    learn.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{.batches = accumulate});
  if (clip_norm > 0) learn.add<callbacks::GradientClip>(static_cast<float>(clip_norm));
  if (ema > 0) learn.add<callbacks::Ema>(EmaOptions{.decay = ema});
}

}  // namespace learn
