#include "apps/learn/eval.h"

#include "apps/learn/experiment.h"
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
    return path;
  }
  fs::path file = path / "weights" / (options.weights + ".safetensors");
  if (!fs::exists(file))
    fail<CheckpointError>(
        "'{}' holds no '{}': is it the folder of a run?", options.path, file.string());
  return file;
}

std::string require(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    fail<CheckpointError>("'{}' does not say its '{}': it was not written by 'learn train'",
                          file.path().string(),
                          key);
  return found->second;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The options the checkpoint was trained with.
TrainOptions trained_with(const SafetensorsFile& file) {
  TrainOptions options;
  const OptionTable table = train_table(options);
  try {
    set_options(table, parse_config(require(file, "learn.config"), "learn.config", "train", table));
  } catch (const UsageError& e) {
    fail<CheckpointError>("'{}': {}", file.path().string(), e.what());
  }
  return options;
}

data::Dataset load_data(const EvalOptions& options,
                        const TrainOptions& trained,
                        const std::vector<std::string>& classes) {
  const bool other = !options.data.empty();
  data::DataOptions d{
      .directory = options.data_dir.empty() ? trained.data_dir : options.data_dir,
      .classes = other ? classes : trained.classes,
      .valid_limit = options.valid_limit > 0 ? options.valid_limit : trained.valid_limit,
      .seed = static_cast<std::uint64_t>(trained.seed),
      .image_size = trained.image_size,
      .threads = static_cast<int>(options.threads)};
  // The training images matter only when the validation images were split off from them.
  if (trained.val_split > 0 && !other)
    d.valid_fraction = trained.val_split;
  else
    d.train_limit = 1;
  data::Dataset data = data::load(other ? options.data : trained.data, d).valid;
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
  const TrainOptions trained = trained_with(file);
  const std::vector<std::string> classes = lines_of(require(file, "learn.classes"));
  const data::Normalization normalization =
      normalization_from(require(file, "learn.normalization"));

  Context ctx({.device = choose_device(options.device),
               .threads = static_cast<int>(options.threads),
               .cuda = cuda_options(options.cuda, options.precision)});
  const data::Dataset data = load_data(options, trained, classes);
  data::Loader loader(ctx,
                      data,
                      {.batch_size = options.batch_size,
                       .workers = static_cast<int>(options.workers),
                       .normalization = normalization});
  nn::Model model = models::make_model(trained.model,
                                       {.classes = static_cast<int>(classes.size()),
                                        .input = {data.height, data.width, data.channels},
                                        .width = trained.width,
                                        .dropout = trained.dropout});
  Learner learn(ctx, std::move(model), loader, {.report = Report::off});
  load_weights(path, learn.params());

  const Predictions predictions = learn.get_preds(loader);
  const std::vector<ClassResult> results = results_of(predictions, classes.size());
  std::int64_t right = 0;
  for (const ClassResult& result : results) right += result.right;
  fmt::print("{}{}{} on {} {} images{}\n\n{}\nloss {:.6f}  accuracy {:.4f}  ({} of {})\n",
             path.string(),
             separator(),
             trained.model,
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
