#include "apps/learn/eval.h"

#include "apps/experiment/experiment.h"
#include "apps/experiment/saved_run.h"
#include "apps/experiment/training_section.h"
#include "apps/learn/class_table.h"
#include "apps/learn/evaluation.h"
#include "framework/core/console.h"
#include "framework/core/nan_sign.h"
#include "framework/inference/saved_model.h"
#include "framework/io/checkpoint.h"
#include "framework/io/saved_weights.h"
#include "framework/learner/metric_registry.h"
#include "framework/report/text_table.h"
#include "framework/runtime/transfer.h"

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

bool measures_training_images(const EvalOptions& options) { return options.set == "train"; }

/// The images that it was validated or trained on, or those of other data.
data::Dataset load_data(const EvalOptions& options,
                        const DataSection& trained,
                        std::int64_t seed,
                        data::ImageSize input,
                        const std::vector<std::string>& classes) {
  const std::int64_t threads = options.compute.threads;
  DataSection wanted = trained;
  if (options.valid_limit > 0 || !options.data.empty()) wanted.valid_limit = options.valid_limit;
  if (!options.data_dir.empty() || !options.data.empty()) wanted.data_dir = options.data_dir;
  if (!options.data.empty()) {
    wanted.data = options.data;
    return wanted.load_for_evaluation(input, classes, threads);
  }
  const bool train = measures_training_images(options);
  // Else the training images matter only when the validation images were split off from them.
  if (!train) wanted.train_limit = wanted.val_split == 0 ? "1" : "1.0";
  data::DataPair pair = wanted.load(seed, threads);
  return train ? data::limited(std::move(pair.train), options.valid_limit) : std::move(pair.valid);
}

/// "all 120 images of photos": what was measured.
std::string describe(const EvalOptions& options, const data::Dataset& data) {
  const bool limited = data.size() == options.valid_limit;
  return fmt::format("{}{} {}images of {}{}",
                     limited                ? ""
                     : options.data.empty() ? "the "
                                            : "all ",
                     data.size(),
                     !options.data.empty()               ? ""
                     : measures_training_images(options) ? "training "
                                                         : "validation ",
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

void check_options(const EvalOptions& o) {
  if (o.out && o.path != "last")
    fail<UsageError>("--out {} has no effect: it is where 'last' looks", *o.out);
  if (!o.data.empty() && measures_training_images(o))
    fail<UsageError>("--set train has no effect on --data {}: all images of that are measured",
                     o.data);
  if (!o.predictions.empty()) check_predictions_name(o.predictions);
}

/// What was asked for by name, of outputs on the host.
std::string chosen_metrics(Context& ctx, const EvalOptions& options, const Evaluation& evaluation) {
  if (options.metrics.empty()) return "";
  const std::vector<Metric> metrics = make_metrics(options.metrics);
  MetricPasses passes(ctx, metrics);
  const Predictions& p = evaluation.predictions();
  passes.add(to_device(ctx, ctx.persistent(), p.preds),
             to_device(ctx, ctx.persistent(), p.targets));
  std::string text;
  for (const auto& [name, value] : passes.values())
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : "  ", name, without_nan_sign(value));
  return text + "\n";
}

std::string calibration_line(const Calibration& c) {
  return fmt::format("calibration: ECE {:.4f}, largest gap {:.4f}, Brier {:.4f}\n",
                     without_nan_sign(c.ece),
                     without_nan_sign(c.mce),
                     without_nan_sign(c.brier));
}

std::string top_losses_table(const Evaluation& evaluation, std::int64_t count) {
  if (count == 0) return "";
  TextTable table({{"largest losses"},
                   {"loss", TextTable::Align::right},
                   {"is"},
                   {"probability", TextTable::Align::right},
                   {"taken for"},
                   {"probability", TextTable::Align::right}});
  const std::vector<std::string>& names = evaluation.data().classes;
  for (const std::size_t i : evaluation.top_losses(count)) {
    const JudgedSample one = evaluation.sample(i);
    const auto probability = [&](std::int64_t c) {
      return fmt::format("{:.4f}",
                         without_nan_sign(one.probabilities[static_cast<std::size_t>(c)]));
    };
    table.row({one.file,
               fmt::format("{:.4f}", without_nan_sign(one.loss)),
               names[static_cast<std::size_t>(one.truth)],
               probability(one.truth),
               one.predicted < 0 ? "NaN" : names[static_cast<std::size_t>(one.predicted)],
               one.predicted < 0 ? "" : probability(one.predicted)});
  }
  return "\n" + table.to_string();
}

/// What is printed, from the table of classes on.
std::string page(const EvalOptions& options, const Evaluation& evaluation) {
  const ConfusionMatrix& confusion = evaluation.confusion();
  const std::vector<std::string>& classes = evaluation.data().classes;
  constexpr std::size_t kPairs = 5;
  const std::string pairs = confused_pairs(confusion, classes, kPairs);
  return fmt::format(
      "{}{}{}{}{}",
      calibration_line(evaluation.calibration()),
      pairs.empty() ? "" : fmt::format("most confused: {}\n", pairs),
      options.confusion ? "\n" + matrix_table(confusion, classes) : "",
      top_losses_table(evaluation, options.top_losses),
      options.save.empty() ? "" : fmt::format("\ntables and drawings are in {}\n", options.save));
}

}  // namespace

OptionTable EvalOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("weights", weights, "best|last|...", "which checkpoint of a run").when_absent = "best";
  t.text("out", out, "DIR", "folder of all runs, for 'last'").when_absent = "runs";
  t.choice("set", set, {"valid", "train"}, "images that it was validated or trained on");
  t.text("data",
         data,
         "NAME|PATH",
         "other data than it was validated on: all images of a folder or archive, of its test or "
         "valid folder if it has one, or the test images of a set; scaled to the model's input");
  t.text("data-dir", data_dir, "DIR", "folder of the data sets");
  t.number("valid-limit",
           valid_limit,
           kNotNegative,
           "N",
           "number of images; 0: as many as in training, all of other data");
  t.number("batch-size", batch_size, {.low = 1, .high = 1 << 20}, "N", "images per batch")
      .short_name = "b";
  t.number("workers", workers, {.low = 0, .high = 64}, "N", "threads that prepare batches");
  compute.declare(t);
  t.group("What to show");
  declare_metric_specs(t, metrics, "more numbers, by name");
  t.flag("confusion", confusion, "print the confusion matrix");
  t.number("top-losses",
           top_losses,
           {.low = 0, .high = 100000},
           "N",
           "list the N images of the largest loss; --save draws as many, or 16");
  t.text("predictions",
         predictions,
         "FILE",
         "write what was predicted for each image, with all probabilities and its loss, as .csv or "
         ".json");
  t.text("save",
         save,
         "DIR",
         "write confusion.csv, classes.csv, calibration.csv, confusion.png, calibration.png and "
         "top-losses.png");
  return t;
}

int eval(const EvalOptions& options) {
  check_options(options);
  const fs::path path =
      saved_weights(run_folder(options.path, options.out.value_or("runs")), options.weights);
  const SafetensorsFile file(path);
  const ExperimentOptions trained = trained_with(file);
  const SavedModel saved = saved_model(file);
  const std::vector<std::string>& classes = saved.classes;

  Context ctx(options.compute.context_options());
  const bool elsewhere = !options.data.empty() || !options.data_dir.empty();
  const data::Dataset data = load_data(options,
                                       elsewhere ? trained.data : saved_data(trained.data, file),
                                       trained.device.seed,
                                       saved.input,
                                       classes);
  if (data.channels != saved.channels)
    fail<DataError>("'{}' has {} channels, the model takes {}: say ':channels={}' behind the path",
                    data.name,
                    data.channels,
                    saved.channels,
                    saved.channels);
  const Evaluation evaluation =
      evaluate(ctx, path, saved, data, {options.batch_size, options.workers});
  const ConfusionMatrix& confusion = evaluation.confusion();
  const double loss = evaluation.predictions().loss;
  std::int64_t right = 0;
  std::int64_t decided = 0;
  for (int c = 0; c < confusion.classes(); ++c) {
    right += confusion.count(c, c);
    decided += confusion.predicted(c);
  }
  constexpr std::int64_t kDrawn = 16;
  const std::string title = fmt::format("{} on {}", saved.model, describe(options, data));
  if (!options.predictions.empty()) write_predictions(evaluation, options.predictions);
  if (!options.save.empty())
    save_evaluation(evaluation,
                    options.top_losses > 0 ? options.top_losses : kDrawn,
                    saved.model,
                    title,
                    options.save);
  console::print(fmt::format("{}{}{}\n\n{}\nloss {:.6f}  accuracy {:.4f}  ({} of {})\n{}{}{}",
                             path.string(),
                             separator(),
                             title,
                             class_table(confusion, classes),
                             without_nan_sign(loss),
                             confusion.accuracy(),
                             right,
                             confusion.samples(),
                             differences(trained),
                             chosen_metrics(ctx, options, evaluation),
                             page(options, evaluation)));
  if (decided == confusion.samples() && std::isfinite(loss)) return 0;
  fail<DivergedError>(
      "'{}' is not fit for use: the loss is {}, and of {} of {} images a prediction "
      "is NaN",
      path.string(),
      without_nan_sign(loss),
      confusion.samples() - decided,
      confusion.samples());
}

}  // namespace learn::cli
