#include "apps/learn/experiment.h"

#include "callbacks/cuda_graph.h"
#include "callbacks/early_stopping.h"
#include "callbacks/ema.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/mixed_precision.h"
#include "callbacks/monitor.h"
#include "callbacks/registry.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/core/log.h"
#include "framework/io/checkpoint.h"
#include "framework/learner/param_scheduler.h"
#include "framework/optim/registry.h"
#include "framework/report/progress_bar.h"
#include "framework/runtime/device_choice.h"
#include "models/registry.h"

#include <sstream>

namespace learn::cli {
namespace {

LearnerOptions learner_options(const TrainOptions& o, std::size_t classes) {
  optim::OptimizerSettings settings;
  if (o.momentum) settings.momentum = static_cast<float>(*o.momentum);
  settings.weight_decay = static_cast<float>(o.weight_decay);
  settings.flat = o.flat_master;
  LearnerOptions options;
  options.loss = nn::cross_entropy(static_cast<float>(o.label_smoothing));
  options.optimizer = optim::optimizers().at(o.optimizer).value(settings);
  options.metrics = {metrics::accuracy()};
  constexpr int kTop = 5;
  if (classes > std::size_t{2} * kTop) options.metrics.push_back(metrics::top_k(kTop));
  options.lr = learning_rates(o);
  options.report = Report::off;
  return options;
}

optim::Schedule schedule_from(const std::string& name, double lr) {
  namespace schedules = optim::schedules;
  if (name == "cosine") return schedules::cosine(lr, 0);
  if (name == "linear") return schedules::linear(lr, 0);
  // A tenth after half of the training, a hundredth for its last quarter.
  if (name == "step") return schedules::piecewise({0.5, 0.75}, {lr, lr * 0.1, lr * 0.01});
  return schedules::constant(lr);
}

}  // namespace

DType working_dtype(const std::string& precision) {
  if (precision == "fp16") return DType::f16;
  return precision == "bf16" ? DType::bf16 : DType::f32;
}

std::string to_text(const data::Normalization& n) {
  return fmt::format(
      "{} {} {} {} {} {}", n.mean[0], n.mean[1], n.mean[2], n.std[0], n.std[1], n.std[2]);
}

data::Normalization normalization_from(const std::string& text) {
  data::Normalization n;
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  if (!(in >> n.mean[0] >> n.mean[1] >> n.mean[2] >> n.std[0] >> n.std[1] >> n.std[2]))
    fail<CheckpointError>("'{}' is no normalization: six numbers are wanted", text);
  return n;
}

std::string separator() { return locale_is_utf8() ? " \u00B7 " : " - "; }

Experiment::Experiment(const TrainOptions& options, std::int64_t max_batches)
    : options_(options),
      max_batches_(max_batches),
      ctx_({.device = choose_device(options.device),
            .threads = static_cast<int>(options.threads),
            .seed = static_cast<std::uint64_t>(options.seed),
            .cuda = cuda_options(options.cuda, options.precision)}) {
  if (ctx_.device().is_cpu() && options.precision == "tf32")
    log::warn("[train] --precision tf32 is fp32 on the CPU");
  make_learner(load_data());
  make_groups();
  add_callbacks();
}

data::DataPair Experiment::load_data() const {
  const bool share = options_.train_limit.find('.') != std::string::npos;
  data::DataOptions d{.directory = options_.data_dir,
                      .classes = options_.classes,
                      .train_limit = share ? 0 : parse_integer(options_.train_limit, kPositive),
                      .valid_limit = options_.valid_limit,
                      .seed = static_cast<std::uint64_t>(options_.seed),
                      .image_size = options_.image_size,
                      .threads = static_cast<int>(options_.threads)};
  if (options_.val_split > 0) d.valid_fraction = options_.val_split;
  data::DataPair set = data::load(options_.data, d);
  if (share) {
    const double part = parse_real(options_.train_limit, {0, 1, true, false});
    const auto count = static_cast<std::int64_t>(part * static_cast<double>(set.train.size()));
    if (count < 1)
      fail<UsageError>("--train-limit {} leaves no image of {}", part, set.train.size());
    set.train = data::limited(std::move(set.train), count);
  }
  return set;
}

void Experiment::make_learner(data::DataPair set) {
  const data::Dataset& train = set.train;
  nn::Model model = models::make_model(options_.model,
                                       {.classes = static_cast<int>(train.classes.size()),
                                        .input = {train.height, train.width, train.channels},
                                        .width = options_.width,
                                        .dropout = options_.dropout});
  data_.emplace(ctx_,
                std::move(set),
                data::LoadersOptions{.augment = options_.augment,
                                     .loader = {.batch_size = options_.batch_size,
                                                .max_batches = max_batches_,
                                                .workers = static_cast<int>(options_.workers),
                                                .prefetch = static_cast<int>(options_.prefetch),
                                                .seed = static_cast<std::uint64_t>(options_.seed),
                                                .dtype = working_dtype(options_.precision),
                                                .pad_channels = model.takes_padding}});
  learner_ = std::make_unique<Learner>(
      ctx_, std::move(model), *data_, learner_options(options_, data().train.classes.size()));
  if (options_.pretrained.empty()) return;
  const WeightsReport report =
      load_weights(options_.pretrained, learner_->params(), WeightsMatch::partial);
  log::info("[model] {} tensors from '{}'", report.loaded, options_.pretrained);
  if (!report.clean())
    log::warn("[model] not everything fits, the rest starts anew:{}", report.describe());
}

void Experiment::make_groups() {
  const bool automatic = options_.split == std::vector<std::string>{"auto"};
  const bool needed = options_.freeze != "none" || options_.lr.size() > 1;
  const std::vector<std::string>& own = learner_->model_info().split;
  if (automatic || (needed && options_.split.empty())) {
    if (own.empty())
      fail<UsageError>("model '{}' has no cuts of its own: name the modules with --split",
                       options_.model);
    learner_->split(own);
  } else if (!options_.split.empty()) {
    learner_->split(options_.split);
  }
  if (options_.freeze == "none") return;
  const int groups = learner_->params().layer_groups();
  if (options_.freeze == "body") return learner_->freeze();
  const std::int64_t frozen = parse_integer(options_.freeze, kPositive);
  if (frozen >= groups)
    fail<UsageError>("--freeze {} would freeze all of the {} layer groups", frozen, groups);
  learner_->freeze_to(static_cast<int>(frozen));
}

void Experiment::add_callbacks() {
  Learner& learn = *learner_;
  if (options_.precision == "fp16") {
    callbacks::MixedPrecisionOptions half{.flat_master = options_.flat_master};
    if (options_.loss_scale != "dynamic") {
      half.loss_scale = static_cast<float>(parse_real(options_.loss_scale, kPositive));
      half.scaling.dynamic = false;
    }
    learn.add<callbacks::MixedPrecision>(half);
  } else if (options_.precision == "bf16") {
    learn.add<callbacks::MixedPrecision>(callbacks::MixedPrecisionOptions{
        .dtype = DType::bf16, .flat_master = options_.flat_master});
  }
  if (options_.accumulate > 1)
    learn.add<callbacks::GradientAccumulation>(
        callbacks::AccumulateEvery{.batches = options_.accumulate});
  if (options_.clip_norm > 0)
    learn.add<callbacks::GradientClip>(static_cast<float>(options_.clip_norm));
  if (options_.cuda_graph) learn.add<callbacks::CudaGraph>();
  if (options_.ema > 0) learn.add<callbacks::Ema>(EmaOptions{.decay = options_.ema});
  callbacks::Monitor(options_.monitor).check_known(learn);
  if (options_.patience > 0)
    learn.add<callbacks::EarlyStopping>(callbacks::EarlyStoppingOptions{
        .monitor = options_.monitor, .patience = options_.patience});
  const callbacks::RunSettings run{.monitor = options_.monitor};
  for (const std::string& spec : options_.callbacks)
    if (!callbacks::reports(spec)) callbacks::add_from_text(learn, spec, run);
  if (learn.find<callbacks::TerminateOnNan>() == nullptr) learn.add<callbacks::TerminateOnNan>();
}

void Experiment::fit() {
  const LearningRates lrs = learning_rates(options_);
  if (options_.schedule == "one-cycle") {
    OneCycleOptions cycle;
    cycle.pct_start = options_.warmup.value_or(cycle.pct_start);
    if (options_.momentum) cycle.mom_max = cycle.mom_min = *options_.momentum;
    learner_->fit_one_cycle(options_.epochs, lrs, cycle);
  } else {
    fit_scheduled();
  }
}

void Experiment::fit_scheduled() {
  namespace schedules = optim::schedules;
  const LearningRates lrs = learning_rates(options_);
  ScheduledHyper course{Hyper::lr, {}};
  for (const float lr : lrs.spread(learner_->params().layer_groups())) {
    optim::Schedule schedule = options_.schedule == "flat-cos"
                                   ? schedules::flat_cosine(static_cast<double>(lr))
                                   : schedule_from(options_.schedule, static_cast<double>(lr));
    const double warmup = options_.warmup.value_or(0);
    if (warmup > 0) schedule = schedules::warm_up(warmup, 0, schedule);
    course.schedules.push_back(std::move(schedule));
  }
  learner_->add<ParamScheduler>(std::vector{course}, Clock::batch, options_.schedule);
  learner_->fit(options_.epochs, lrs);
}

Metadata Experiment::metadata(const std::string& config) const {
  const data::Dataset& train = data().train;
  return {{"learn.version", LEARN_VERSION},
          {"learn.config", config},
          {"learn.model", options_.model},
          {"learn.classes", join(train.classes, "\n")},
          {"learn.input", fmt::format("{} {} {}", train.height, train.width, train.channels)},
          {"learn.normalization", to_text(data_->normalization())},
          {"learn.dataset", train.name},
          {"learn.fingerprint", train.fingerprint()},
          {"learn.dataset_synthetic", train.synthetic ? "true" : "false"}};
}

std::string Experiment::headline() {
  const data::Dataset& train = data().train;
  const std::string d = separator();
  std::string device = to_string(ctx_.device());
  if (ctx_.device().is_cpu()) device += fmt::format(" {} threads", ctx_.threads().threads());
  return fmt::format("learn {}{}{} ({:.2f} M params){}{} {}/{}{}{}{}{}{}{}batch {}{}seed {}",
                     LEARN_VERSION,
                     d,
                     options_.model,
                     static_cast<double>(learner_->params().parameter_count()) / 1e6,
                     d,
                     train.name,
                     train.size(),
                     data().valid.size(),
                     train.synthetic ? " (synthetic)" : "",
                     d,
                     device,
                     d,
                     options_.precision,
                     d,
                     options_.batch_size,
                     d,
                     options_.seed);
}

}  // namespace learn::cli
