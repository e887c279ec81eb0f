#include "apps/learn/eval.h"

#include "apps/experiment/experiment.h"
#include "apps/experiment/progress_line.h"
#include "apps/experiment/saved_run.h"
#include "apps/experiment/training_section.h"
#include "apps/learn/evaluation.h"
#include "apps/learn/run_argument.h"
#include "framework/core/console.h"
#include "framework/core/nan_sign.h"
#include "framework/inference/saved_model.h"
#include "framework/io/checkpoint.h"
#include "framework/io/saved_weights.h"
#include "framework/learner/metric_registry.h"
#include "framework/nn/loss_registry.h"
#include "framework/report/text_table.h"
#include "framework/runtime/transfer.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

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
    return wanted.load_for_evaluation(input, classes, threads, progress_line("reading"));
  }
  const bool train = measures_training_images(options);
  // Else the training images matter only when the validation images were split off from them.
  if (!train) wanted.train_limit = wanted.val_split == 0 ? "1" : "1.0";
  data::DataPair pair = wanted.load(seed, threads, progress_line("reading"));
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
std::string differences(const ExperimentOptions& trained, TargetKind kind) {
  std::vector<std::string> all;
  const TrainingSection& training = trained.training;
  if (!training.loss.empty() && training.loss != nn::usual_loss(kind))
    all.push_back(fmt::format("the training's loss is {}", training.loss));
  if (training.label_smoothing > 0)
    all.push_back(
        fmt::format("the training's loss has label smoothing {}", training.label_smoothing));
  if (!training.class_weights.empty())
    all.push_back(
        fmt::format("the training's loss has class weights {}", join(training.class_weights, ",")));
  if (const std::string precision = trained.precision.chosen(); precision != "fp32")
    all.push_back(fmt::format("it was trained in {}", precision));
  if (all.empty()) return "";
  return fmt::format("measured in fp32 as plain {}; {}\n", loss_name(kind), join(all, ", "));
}

void check_options(const EvalOptions& o) {
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

std::string top_losses_table(const Evaluation& evaluation, std::int64_t count) {
  if (count == 0) return "";
  std::vector<TextTable::Column> columns{{"largest losses"}, {"loss", TextTable::Align::right}};
  for (TextTable::Column& column : evaluation.top_columns()) columns.push_back(std::move(column));
  TextTable table(std::move(columns));
  for (const std::size_t i : evaluation.top_losses(count)) {
    std::vector<std::string> cells{evaluation.file(i), four_digits(evaluation.loss(i))};
    for (std::string& cell : evaluation.top_cells(i)) cells.push_back(std::move(cell));
    table.row(std::move(cells));
  }
  return "\n" + table.to_string();
}

/// "loss 0.123456  accuracy ..."; of others than classes it says which loss that is.
std::string loss_line(const Evaluation& evaluation) {
  const TargetKind kind = evaluation.data().target_kind;
  return fmt::format("loss {:.6f}{}  {}\n",
                     without_nan_sign(evaluation.predictions().loss),
                     kind == TargetKind::classes ? "" : fmt::format(" ({})", loss_name(kind)),
                     evaluation.summary());
}

/// Options that not all targets have.
void check_targets(const EvalOptions& options, const SavedModel& saved) {
  if (options.confusion) saved.require(TargetKind::classes, "--confusion");
  if (options.threshold)
    saved.require(TargetKind::labels, fmt::format("--threshold {}", *options.threshold));
  check_targets(make_metrics(options.metrics), saved.target_kind, "'" + saved.model + "'");
}

}  // namespace

OptionTable EvalOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("weights", weights, "best|last|...", "which checkpoint of a run").when_absent = "best";
  declare_runs_folder(t, out);
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
  t.number("threshold",
           threshold,
           kShare,
           "P",
           "of several labels: probability above which one is there")
      .when_absent = "0.5";
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
         "write tables and drawings: of classes confusion, classes and calibration, of several "
         "labels labels.csv and precision-recall.png, of real numbers values.csv and "
         "predictions.png; and top-losses.png");
  return t;
}

int eval(const EvalOptions& options) {
  check_options(options);
  const fs::path path = saved_weights(run_argument(options.path, options.out), options.weights);
  const SafetensorsFile file(path);
  const ExperimentOptions trained = trained_with(file);
  const SavedModel saved = saved_model(file);
  check_targets(options, saved);

  Context ctx(options.compute.context_options());
  const bool elsewhere = !options.data.empty() || !options.data_dir.empty();
  const data::Dataset data = load_data(options,
                                       elsewhere ? trained.data : saved_data(trained.data, file),
                                       trained.device.seed,
                                       saved.input,
                                       saved.classes);
  if (data.channels != saved.channels)
    fail<DataError>("'{}' has {} channels, the model takes {}: say ':channels={}' behind the path",
                    data.name,
                    data.channels,
                    saved.channels,
                    saved.channels);
  const std::unique_ptr<Evaluation> evaluation =
      evaluate(ctx,
               path,
               saved,
               data,
               {.batch_size = options.batch_size,
                .workers = options.workers,
                .threshold = options.threshold.value_or(kLabelThreshold)});
  constexpr std::int64_t kDrawn = 16;
  const std::string title = fmt::format("{} on {}", saved.model, describe(options, data));
  if (!options.predictions.empty()) write_predictions(*evaluation, options.predictions);
  if (!options.save.empty())
    save_evaluation(*evaluation,
                    options.top_losses > 0 ? options.top_losses : kDrawn,
                    saved.model,
                    title,
                    options.save);
  console::print(fmt::format(
      "{}{}{}\n\n{}\n{}{}{}{}{}{}",
      path.string(),
      separator(),
      title,
      evaluation->table(),
      loss_line(*evaluation),
      differences(trained, saved.target_kind),
      chosen_metrics(ctx, options, *evaluation),
      evaluation->details(options.confusion),
      top_losses_table(*evaluation, options.top_losses),
      options.save.empty() ? "" : fmt::format("\ntables and drawings are in {}\n", options.save)));
  const double loss = evaluation->predictions().loss;
  const std::int64_t undecided = evaluation->undecided();
  if (undecided == 0 && std::isfinite(loss)) return 0;
  fail<DivergedError>(
      "'{}' is not fit for use: the loss is {}, and of {} of {} images a prediction "
      "is NaN",
      path.string(),
      without_nan_sign(loss),
      undecided,
      evaluation->size());
}

}  // namespace learn::cli
