#include "apps/experiment/experiment.h"

#include "apps/experiment/progress_line.h"
#include "apps/experiment/range_check.h"
#include "callbacks/rollback.h"
#include "framework/core/log.h"
#include "framework/core/printable.h"
#include "framework/core/version.h"
#include "framework/inference/saved_model.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/learner/exchange.h"
#include "framework/runtime/cuda_report.h"
#include "framework/terminal/progress_bar.h"

namespace learn {
namespace {

/// Returns the hardware that determines the last bits of the results.
std::string computed_on(Device device) {
  if (device.is_cpu()) return fmt::format("a CPU's {}", name_of(cpu::simd::isa()));
  return cuda_report().devices.at(static_cast<std::size_t>(device.index)).name;
}

}  // namespace

std::string separator() { return locale_is_utf8() ? " \u00B7 " : " - "; }

Experiment::Experiment(ExperimentOptions options, std::int64_t max_batches)
    : options_(std::move(options)),
      ctx_(options_.device.context_options(options_.precision.tf32())) {
  options_.check();
  const auto& [data, model, training, precision, device, ranks, run] = options_;
  data::DataPair set = data.load(
      device.seed, device.threads, run.progress ? progress_line("reading") : data::DataProgress());
  const data::Dataset& train = set.train;
  options_.know(train);
  if (run.monitor.empty()) {
    options_.run.monitor = run.usual_monitor;
    if (train.target_kind != TargetKind::classes)
      log::info("[data] the targets are {}: the best epoch has the lowest {}",
                to_text(train.target_kind),
                run.monitor);
  }
  if (!train.form().is_image() && training.augment != "none" && training.augment != "basic")
    fail<UsageError>("--augment {} is for images; '{}' has features", training.augment, train.name);
  const std::size_t classes = train.classes.size();
  nn::Model net = model.make({.classes = static_cast<int>(classes), .input = train.sample_shape()});
  data::LoaderOptions loader = data.loader_options();
  loader.batch_size = training.batch_size;
  loader.max_batches = max_batches;
  loader.seed = static_cast<std::uint64_t>(device.seed);
  loader.dtype = precision.dtype();
  loader.pad_channels = net.takes_padding;
  data::LoadersOptions batches{
      .augment = training.augment, .normalization = data.normalization(train), .loader = loader};
  data_.emplace(ctx_, std::move(set), std::move(batches));
  if (data_->train().on_device()) data.warn_on_device();
  if (const std::int64_t left = data_->train().dataset().size() - data_->train().samples();
      data.drop_last && max_batches == 0 && left > 0)
    log::info(
        "[data] {} of {} training images are left out in each epoch, others each time "
        "(--drop-last)",
        left,
        data_->train().dataset().size());
  net.params->materialize(ctx_, DType::f32, model.initial_values);
  learner_.emplace(ctx_,
                   std::move(net),
                   *data_,
                   training.learner_options(ctx_, precision.flat_master, data_->set().train));
  model.prepare(*learner_, *data_, training.lr.size() > 1 || training.fine_tune > 0, run.out);
  precision.prepare(*learner_, options_.precision_callback() != nullptr);
  if (!model.pretrained.empty()) check_range(*learner_, precision, model.pretrained);
  device.add_callbacks(*learner_);
  training.add_callbacks(*learner_);
  run.add_callbacks(*learner_);
}

void Experiment::fit() {
  const auto train = [&] { learner_->fit(options_.training.epochs); };
  if (options_.run.on_nan == OnNan::stop) return train();
  callbacks::fit_with_rollbacks(*learner_, train);
}

Metadata Experiment::metadata(const std::string& config) const {
  const data::Dataset& train = data().train;
  Metadata out{{"learn.version", LEARN_VERSION},
               {"learn.config", config},
               {"learn.computed_on", computed_on(ctx_.device())},
               {"learn.dataset", utf8_text(train.name)},
               {"learn.fingerprint", train.fingerprint()},
               {"learn.valid_fingerprint", data().valid.fingerprint()},
               {"learn.dataset_synthetic", train.synthetic ? "true" : "false"}};
  describe_model({.model = options_.model.spec().text(),
                  .classes = train.classes,
                  .input = {train.height, train.width},
                  .normalization = data_->normalization(),
                  .target_kind = train.target_kind,
                  .channels = train.channels,
                  .features = train.feature_names},
                 out);
  if (const auto place = options_.data.place()) {
    const std::string path = std::filesystem::absolute(*place).lexically_normal().string();
    if (is_utf8(path)) out["learn.data_path"] = path;  // otherwise the option finds the data
  }
  return out;
}

std::unique_ptr<data::Loaders> loaders_to_look_at(Context& ctx, const ExperimentOptions& all) {
  data::DataPair set = all.data.load(all.device.seed, all.device.threads, progress_line("reading"));
  data::LoadersOptions options{.augment = all.training.augment,
                               .normalization = all.data.normalization(set.train),
                               .loader = all.data.loader_options()};
  options.loader.batch_size = 1;
  options.loader.workers = 0;
  options.loader.prefetch = 1;
  options.loader.seed = static_cast<std::uint64_t>(all.device.seed);
  return std::make_unique<data::Loaders>(ctx, std::move(set), std::move(options));
}

std::string Experiment::headline() {
  const data::Dataset& train = data().train;
  const std::string d = separator();
  std::string device = to_string(ctx_.device());
  if (ctx_.device().is_cpu()) device += fmt::format(" {} threads", ctx_.threads().threads());
  std::string batch = fmt::format("batch {}", options_.training.batch_size);
  if (Exchange* const ranks = learner_->exchange()) {
    const RankPlace& place = ranks->communicator().place();
    if (ctx_.device().is_cuda() && ctx_.device().index == place.local_rank) device = "a GPU";
    device = fmt::format("{} ranks on {} {}, each {}",
                         ranks->ranks(),
                         ranks->hosts(),
                         ranks->hosts() == 1 ? "host" : "hosts",
                         device);
    batch += fmt::format(" = {} x {:.4g}",
                         ranks->ranks(),
                         static_cast<double>(options_.training.batch_size) / ranks->ranks());
  }
  return fmt::format("learn {}{}{} ({:.2f} M params){}{} {}{}{}{}{}{}{}{}{}{}seed {}",
                     LEARN_VERSION,
                     d,
                     options_.model.model,
                     static_cast<double>(learner_->params().parameter_count()) / 1e6,
                     d,
                     train.name,
                     train.size(),
                     options_.data.validates ? fmt::format("/{}", data().valid.size()) : "",
                     train.synthetic ? " (synthetic)" : "",
                     d,
                     device,
                     d,
                     options_.precision.chosen(),
                     d,
                     batch,
                     d,
                     options_.device.seed);
}

}  // namespace learn
