#include "apps/learn/eval.h"

#include "apps/experiment/experiment.h"
#include "apps/experiment/saved_run.h"
#include "framework/io/checkpoint.h"
#include "framework/report/text_table.h"
#include "framework/runtime/device_choice.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

fs::path checkpoint_in(const EvalOptions& options) {
  fs::path path(options.path);
  if (!fs::is_directory(path)) {
    if (!fs::exists(path))
      fail<CheckpointError>("'{}' is neither a run nor a checkpoint: it does not exist",
                            options.path);
    if (options.weights)
      fail<UsageError>("--weights {} chooses a checkpoint of a run, and '{}' is a checkpoint",
                       *options.weights,
                       options.path);
    return path;
  }
  fs::path file = path / "weights" / (options.weights.value_or("best") + ".safetensors");
  if (!fs::exists(file))
    fail<CheckpointError>(
        "'{}' holds no '{}': is it the folder of a run?", options.path, file.string());
  return file;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The options the checkpoint was trained with.
ExperimentOptions trained_with(const SafetensorsFile& file) {
  ExperimentOptions options;
  set_saved_options(options.table(), file);
  return options;
}

/// The validation images of what it was trained on, or of other data.
data::Dataset load_data(const EvalOptions& options,
                        const DataSection& trained,
                        std::int64_t seed,
                        const std::vector<std::string>& classes) {
  DataSection wanted = trained;
  wanted.train_limit = "1.0";
  if (options.valid_limit > 0) wanted.valid_limit = options.valid_limit;
  if (!options.data_dir.empty()) wanted.data_dir = options.data_dir;
  if (!options.data.empty()) {
    wanted.data = options.data;
    wanted.data_dir = options.data_dir;
    wanted.classes = classes;
    wanted.val_split = 0;
    // Other images must have the size that it was trained on; those of other sets have theirs.
    if (data::dataset_spec(options.data).name != "folder") wanted.image_size = 0;
  }
  // The training images matter only when the validation images were split off from them.
  if (wanted.val_split == 0) wanted.train_limit = "1";
  data::Dataset data = wanted.load(seed, options.threads).valid;
  if (data.classes != classes)
    fail<DataError>("'{}' has other classes than the model was trained on", data.name);
  return data;
}

/// What became of the samples of one class.
struct ClassResult {
  std::int64_t total = 0;
  std::int64_t right = 0;
  std::vector<std::int64_t> taken_for;
};

std::vector<ClassResult> results_of(const Predictions& predictions, std::size_t classes) {
  std::vector<ClassResult> results(classes, {.taken_for = std::vector<std::int64_t>(classes)});
  const auto preds = predictions.preds.span<float>();
  const auto targets = predictions.targets.span<std::int64_t>();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto row = preds.subspan(i * classes, classes);
    const auto guess =
        static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    const auto truth = static_cast<std::size_t>(targets[i]);
    ClassResult& result = results[truth];
    ++result.total;
    if (guess == truth)
      ++result.right;
    else
      ++result.taken_for[guess];
  }
  return results;
}

std::string class_table(const std::vector<ClassResult>& results,
                        const std::vector<std::string>& names) {
  TextTable table({{"class"},
                   {"images", TextTable::Align::right},
                   {"accuracy", TextTable::Align::right},
                   {"most often taken for"}});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ClassResult& result = results[i];
    const auto worst = std::max_element(result.taken_for.begin(), result.taken_for.end());
    const double share = static_cast<double>(result.right) /
                         static_cast<double>(std::max<std::int64_t>(1, result.total));
    table.row({names[i],
               std::to_string(result.total),
               result.total > 0 ? fmt::format("{:.4f}", share) : "-",
               *worst == 0
                   ? ""
                   : fmt::format("{} ({})",
                                 names[static_cast<std::size_t>(worst - result.taken_for.begin())],
                                 *worst)});
  }
  return table.to_string();
}

}  // namespace

int eval(const EvalOptions& options) {
  const fs::path path = checkpoint_in(options);
  const SafetensorsFile file(path);
  const ExperimentOptions trained = trained_with(file);
  const std::vector<std::string> classes = lines_of(saved_value(file, "learn.classes"));
  const data::Normalization normalization =
      normalization_from(saved_value(file, "learn.normalization"));

  const DeviceSection device{.precision = options.precision,
                             .device = options.device,
                             .cuda = options.cuda,
                             .threads = options.threads};
  Context ctx(device.context_options());
  const data::Dataset data = load_data(options, trained.data, trained.device.seed, classes);
  data::Loader loader(ctx,
                      data,
                      {.batch_size = options.batch_size,
                       .workers = static_cast<int>(options.workers),
                       .normalization = normalization});
  nn::Model model = trained.model.make({.classes = static_cast<int>(classes.size()),
                                        .input = {data.height, data.width, data.channels}});
  Learner learn(ctx, std::move(model), loader, {.report = Report::off});
  load_weights(path, learn.params());

  const Predictions predictions = learn.get_preds(loader);
  const std::vector<ClassResult> results = results_of(predictions, classes.size());
  std::int64_t right = 0;
  for (const ClassResult& result : results) right += result.right;
  fmt::print("{}{}{} on {} {} images{}\n\n{}\nloss {:.6f}  accuracy {:.4f}  ({} of {})\n",
             path.string(),
             separator(),
             trained.model.model,
             data.size(),
             data.name,
             data.synthetic ? " (synthetic)" : "",
             class_table(results, classes),
             predictions.loss,
             static_cast<double>(right) / static_cast<double>(data.size()),
             right,
             data.size());
  return 0;
}

}  // namespace learn::cli
