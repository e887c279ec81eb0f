#include "apps/learn/eval.h"

#include "apps/experiment/experiment.h"
#include "apps/experiment/saved_run.h"
#include "apps/learn/class_table.h"
#include "framework/core/console.h"
#include "framework/core/nan_sign.h"
#include "framework/inference/saved_model.h"
#include "framework/io/checkpoint.h"
#include "framework/io/saved_weights.h"

#include <cmath>
#include <filesystem>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

/// The options the checkpoint was trained with.
ExperimentOptions trained_with(const SafetensorsFile& file) {
  ExperimentOptions options;
  set_saved_options(options.table(), file);
  return options;
}

/// The images that it was validated on, or those of other data.
data::Dataset load_data(const EvalOptions& options,
                        const DataSection& trained,
                        std::int64_t seed,
                        data::ImageSize input,
                        const std::vector<std::string>& classes) {
  DataSection wanted = trained;
  if (options.valid_limit > 0 || !options.data.empty()) wanted.valid_limit = options.valid_limit;
  if (!options.data_dir.empty() || !options.data.empty()) wanted.data_dir = options.data_dir;
  if (!options.data.empty()) {
    wanted.data = options.data;
    return wanted.load_for_evaluation(input, classes, options.threads);
  }
  // The training images matter only when the validation images were split off from them.
  wanted.train_limit = wanted.val_split == 0 ? "1" : "1.0";
  data::Dataset data = wanted.load(seed, options.threads).valid;
  if (data.classes != classes)
    fail<DataError>("'{}' has other classes than the model was trained on", data.name);
  return data;
}

/// "all 120 images of photos": what was measured.
std::string describe(const EvalOptions& options, const data::Dataset& data) {
  const bool limited = data.size() == options.valid_limit;
  return fmt::format("{}{} {}images of {}{}",
                     limited                ? ""
                     : options.data.empty() ? "the "
                                            : "all ",
                     data.size(),
                     options.data.empty() ? "validation " : "",
                     data.name,
                     data.synthetic ? " (synthetic)" : "");
}

/// What makes the numbers here other ones than those of the training.
std::string differences(const ExperimentOptions& trained) {
  std::vector<std::string> all;
  if (trained.training.label_smoothing > 0)
    all.push_back(fmt::format("the training's loss has label smoothing {}",
                              trained.training.label_smoothing));
  if (const std::string precision = trained.precision.chosen(); precision != "fp32")
    all.push_back(fmt::format("it was trained in {}", precision));
  return all.empty() ? "" : "measured in fp32 as plain cross-entropy; " + join(all, ", ") + "\n";
}

}  // namespace

int eval(const EvalOptions& options) {
  if (options.out && options.path != "last")
    fail<UsageError>("--out {} has no effect: it is where 'last' looks", *options.out);
  const fs::path path =
      saved_weights(run_folder(options.path, options.out.value_or("runs")), options.weights);
  const SafetensorsFile file(path);
  const ExperimentOptions trained = trained_with(file);
  const SavedModel saved = saved_model(file);
  const std::vector<std::string>& classes = saved.classes;

  const DeviceSection device{.device = options.device,
                             .winograd = options.winograd,
                             .cuda = options.cuda,
                             .threads = options.threads};
  Context ctx(device.context_options(options.precision == "tf32"));
  const bool elsewhere = !options.data.empty() || !options.data_dir.empty();
  const data::Dataset data = load_data(options,
                                       elsewhere ? trained.data : saved_data(trained.data, file),
                                       trained.device.seed,
                                       saved.input,
                                       classes);
  data::Loader loader(ctx,
                      data,
                      {.batch_size = options.batch_size,
                       .workers = static_cast<int>(options.workers),
                       .normalization = saved.normalization});
  Learner learn(ctx, saved.make(), loader, {.report = Report::off});
  load_weights(path, learn.params());

  const Predictions predictions = learn.get_preds(loader);
  ConfusionMatrix confusion;
  confusion.add(predictions.preds, predictions.targets);
  std::int64_t right = 0;
  std::int64_t decided = 0;
  for (int c = 0; c < confusion.classes(); ++c) {
    right += confusion.count(c, c);
    decided += confusion.predicted(c);
  }
  console::print(fmt::format("{}{}{} on {}\n\n{}\nloss {:.6f}  accuracy {:.4f}  ({} of {})\n{}",
                             path.string(),
                             separator(),
                             saved.model,
                             describe(options, data),
                             class_table(confusion, classes),
                             without_nan_sign(predictions.loss),
                             static_cast<double>(right) / static_cast<double>(confusion.samples()),
                             right,
                             confusion.samples(),
                             differences(trained)));
  if (decided == confusion.samples() && std::isfinite(predictions.loss)) return 0;
  fail<DivergedError>(
      "'{}' is not fit for use: the loss is {}, and of {} of {} images a prediction "
      "is NaN",
      path.string(),
      without_nan_sign(predictions.loss),
      confusion.samples() - decided,
      confusion.samples());
}

}  // namespace learn::cli
