#include "apps/experiment/experiment.h"
#include "apps/experiment/progress_line.h"
#include "apps/experiment/saved_run.h"
#include "apps/experiment/spec_flag.h"
#include "apps/experiment/training_section.h"
#include "apps/learn/cli/command.h"
#include "apps/learn/common/compute_options.h"
#include "apps/learn/common/json_number.h"
#include "apps/learn/common/run_argument.h"
#include "apps/learn/common/tta_option.h"
#include "apps/learn/model/evaluation.h"
#include "data/sets/registry.h"
#include "framework/core/console.h"
#include "framework/core/nan_sign.h"
#include "framework/core/options/option_table.h"
#include "framework/core/options/quoting.h"
#include "framework/inference/saved_model.h"
#include "framework/io/checkpoint.h"
#include "framework/metrics/metric_registry.h"
#include "framework/nn/loss_registry.h"
#include "framework/runs/result_path.h"
#include "framework/runs/saved_weights.h"
#include "framework/runtime/transfer.h"
#include "framework/terminal/text_table.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn::cli {
namespace {

struct EvalOptions {
  std::string path;                    ///< a run's folder, a checkpoint or "last"
  std::optional<std::string> out;      ///< folder for "last"; default "runs"
  std::optional<std::string> weights;  ///< of a run; default "best"
  std::string data;                    ///< empty: what it was trained on
  std::string data_dir;
  std::string set = "valid";  ///< of what it was trained on: valid or train
  std::int64_t valid_limit = 0;
  std::int64_t batch_size = 256;
  std::int64_t workers = 2;
  std::vector<std::string>
      metrics;  ///< specs of the registry, in addition to the metrics that are always shown
  bool confusion = false;           ///< print the matrix
  std::string tta;                  ///< a spec of `nn::view_registry`; empty: plain images
  bool json = false;                ///< print an object instead of text
  std::optional<double> threshold;  ///< above which a label is predicted; default 0.5
  std::int64_t top_losses = 0;      ///< images of the largest loss to print, and to draw
  std::string predictions;          ///< a .csv or .json file to write
  std::string save;                 ///< a folder for tables and drawings
  ComputeOptions compute;

  /// The options, bound to these fields.
  [[nodiscard]] OptionTable table();
};

namespace fs = std::filesystem;
using MetricValues = std::vector<std::pair<std::string, double>>;

/// The options the checkpoint was trained with.
ExperimentOptions trained_with(const SafetensorsFile& file) {
  ExperimentOptions options;
  set_saved_options(options.table(), file);
  return options;
}

bool measures_training_images(const EvalOptions& options) { return options.set == "train"; }

/// Adds the features of the model, so that `--data` need not name them again.
std::string with_features(const std::string& data, const SavedModel& model) {
  Spec spec = data::dataset_spec(data);
  if (model.input.height > 0) return data;
  if (spec.name != "csv")
    fail<UsageError>("--data {}: the model takes features, not images: name a table, FILE.csv",
                     data);
  if (!model.features.empty() && find_option(spec, "features") == nullptr)
    spec.options.emplace_back("features", join_quoted(model.features, ','));
  return spec.text();
}

/// Throws DataError unless the model takes such samples.
void check_samples(const data::Dataset& data, const SavedModel& model) {
  const auto what = [](bool image) { return image ? "images" : "features"; };
  const bool image = data.form().is_image();
  if (image != (model.input.height > 0))
    fail<DataError>("'{}' has {}, the model takes {}", data.name, what(image), what(!image));
  if (!model.features.empty() && data.feature_names != model.features)
    fail<DataError>("'{}' has the features {}, the model takes {}",
                    data.name,
                    join(data.feature_names),
                    join(model.features));
  if (data.channels != model.channels)
    fail<DataError>("'{}' has {} channels, the model needs {}: append ':channels={}' to the path",
                    data.name,
                    data.channels,
                    model.channels,
                    model.channels);
}

/// The images that it was validated or trained on, or those of other data.
data::Dataset load_data(const EvalOptions& options,
                        const DataSection& trained,
                        std::int64_t seed,
                        const SavedModel& model) {
  const std::int64_t threads = options.compute.threads;
  DataSection wanted = trained;
  if (options.valid_limit > 0 || !options.data.empty()) wanted.valid_limit = options.valid_limit;
  if (!options.data_dir.empty() || !options.data.empty()) wanted.data_dir = options.data_dir;
  if (!options.data.empty()) {
    wanted.data = with_features(options.data, model);
    return wanted.load_for_evaluation(
        model.input, model.classes, threads, progress_line("reading"));
  }
  const bool train = measures_training_images(options);
  // Else the training images matter only when the validation images were split off from them.
  if (!train) wanted.train_limit = wanted.val_split == 0 ? ImageLimit(1) : ImageLimit();
  data::DataPair pair = wanted.load(seed, threads, progress_line("reading"));
  return train ? data::limited(std::move(pair.train), options.valid_limit) : std::move(pair.valid);
}

/// Returns the part of the run's data that is measured, or "all" for other data.
std::string_view part_of(const EvalOptions& options) {
  if (!options.data.empty()) return "all";
  return measures_training_images(options) ? "training" : "validation";
}

/// "all 120 images of photos": what was measured.
std::string describe(const EvalOptions& options, const data::Dataset& data) {
  const bool limited = data.size() == options.valid_limit;
  return fmt::format("{}{} {}{} of {}{}{}",
                     limited                ? ""
                     : options.data.empty() ? "the "
                                            : "all ",
                     data.size(),
                     options.data.empty() ? fmt::format("{} ", part_of(options)) : "",
                     data::sample_word(data),
                     data.name,
                     data.synthetic ? " (synthetic)" : "",
                     options.tta.empty() ? "" : ", --tta " + options.tta);
}

/// Reasons why the numbers differ from those of the training.
std::string differences(const ExperimentOptions& trained, TargetKind kind) {
  std::vector<std::string> all;
  const TrainingSection& training = trained.training;
  if (!training.loss.empty() && training.loss != nn::usual_loss(kind))
    all.push_back(fmt::format("the training used the loss {}", training.loss));
  if (training.label_smoothing > 0)
    all.push_back(fmt::format("the training used label smoothing {}", training.label_smoothing));
  if (!training.class_weights.empty())
    all.push_back(
        fmt::format("the training used class weights {}", join(training.class_weights, ",")));
  if (const std::string precision = trained.precision.chosen(); precision != "fp32")
    all.push_back(fmt::format("it was trained in {}", precision));
  if (all.empty()) return "";
  return fmt::format("measured in fp32 as plain {}; {}\n", loss_name(kind), join(all, ", "));
}

void check_options(const EvalOptions& o) {
  if (!o.data.empty() && measures_training_images(o))
    fail<UsageError>("--set train has no effect on --data {}: all of its images are measured",
                     o.data);
  if (!o.predictions.empty()) check_predictions_name(o.predictions);
}

/// Metrics requested by name, computed from outputs on the host.
MetricValues chosen_metrics(Context& ctx,
                            const EvalOptions& options,
                            const Evaluation& evaluation) {
  if (options.metrics.empty()) return {};
  const std::vector<Metric> metrics = make_metrics(options.metrics);
  MetricPasses passes(ctx, metrics);
  const Predictions& p = evaluation.predictions();
  passes.add(to_device(ctx, ctx.persistent(), p.preds),
             to_device(ctx, ctx.persistent(), p.targets));
  return passes.values();
}

std::string to_text(const MetricValues& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics)
    text += fmt::format("{}{} {}", text.empty() ? "" : "  ", name, four_digits(value));
  return text.empty() ? text : text + "\n";
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

/// "loss 0.123456 accuracy ..."; for targets other than classes, with the name of the loss.
std::string loss_line(const Evaluation& evaluation) {
  const TargetKind kind = evaluation.data().target_kind;
  return fmt::format("loss {:.6f}{}  {}\n",
                     without_nan_sign(evaluation.predictions().loss),
                     kind == TargetKind::classes ? "" : fmt::format(" ({})", loss_name(kind)),
                     evaluation.summary());
}

/// Returns the results that the text shows, as JSON for programs.
std::string to_json(const EvalOptions& options,
                    const fs::path& weights,
                    const SavedModel& saved,
                    const Evaluations& all,
                    const MetricValues& metrics) {
  using Json = nlohmann::ordered_json;
  const Evaluation& e = *all.measured;
  const auto headline = [](const Evaluation& of) {
    Json out{{"loss", finite_or_null(of.predictions().loss)}};
    out.update(of.summary_json());
    return out;
  };
  const fs::path run = run_folder(options.path, options.out.value_or("runs"));
  Json out{{"run", fs::is_directory(run) ? Json(run.string()) : Json()},
           {"weights", weights.string()},
           {"model", saved.model},
           {"data", e.data().name},
           {"synthetic", e.data().synthetic},
           {"part", part_of(options)},
           {"samples", e.size()},
           {"targets", metadata_name(saved.target_kind)},
           {"measures", loss_name(saved.target_kind)},
           {"tta", options.tta.empty() ? Json() : Json(options.tta)},
           {"undecided", e.undecided()}};
  out.update(headline(e));
  if (all.plain != nullptr) out["without_tta"] = headline(*all.plain);
  for (const auto& [name, value] : metrics) out["metrics"][name] = finite_or_null(value);
  out.update(e.scores_json(options.confusion));
  for (const std::size_t i : e.top_losses(options.top_losses))
    out["top_losses"].push_back(e.prediction_json(i));
  // A file's name may be any bytes.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Throws UsageError for an option that does not fit the kind of targets.
void check_targets(const EvalOptions& options, const SavedModel& saved) {
  if (options.confusion) saved.require(TargetKind::classes, "--confusion");
  if (options.threshold)
    saved.require(TargetKind::labels, fmt::format("--threshold {}", *options.threshold));
  check_targets(make_metrics(options.metrics), saved.target_kind, "'" + saved.model + "'");
}

/// The tables of `--save`. Drawings are not data.
std::vector<std::string> tables_of(TargetKind kind) {
  if (kind == TargetKind::labels) return {"labels.csv"};
  if (kind == TargetKind::values) return {"values.csv"};
  return {"confusion.csv", "classes.csv"};
}

/// Nothing is written over the weights or the data.
void check_results(const EvalOptions& options,
                   const fs::path& weights,
                   TargetKind kind,
                   const DataSection& data) {
  std::vector<fs::path> sources = data.sources();
  sources.push_back(weights);
  if (!options.predictions.empty()) check_result_path(options.predictions, sources);
  if (options.save.empty()) return;
  std::erase_if(sources, [](const fs::path& path) { return fs::is_directory(path); });
  for (const std::string& name : tables_of(kind))
    check_result_path(fs::path(options.save) / name, sources);
}

OptionTable EvalOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("weights", weights, "best|last|...", "which checkpoint of a run").when_absent = "best";
  declare_runs_folder(t, out);
  t.choice(
      "set", set, {"valid", "train"}, "evaluate the validation or the training images of the run");
  t.text("data",
         data,
         "NAME|PATH",
         "evaluate other data: all images of a folder or archive (of its test or valid folder, if "
         "any), or the test images of a data set, scaled to the model's input");
  t.text("data-dir", data_dir, "DIR", "folder of the data sets");
  t.number("valid-limit",
           valid_limit,
           kNotNegative,
           "N",
           "number of images; 0: as in the training, or all of --data");
  t.number("batch-size", batch_size, {.low = 1, .high = 1 << 20}, "N", "images per batch")
      .short_name = "b";
  t.number("workers", workers, {.low = 0, .high = 64}, "N", "threads that prepare batches");
  declare_tta(t, tta);
  compute.declare(t);
  t.group("Output");
  declare_metric_specs(t, metrics, "additional metrics");
  t.flag("json", json, "print the results as a JSON object");
  t.flag("confusion", confusion, "print the confusion matrix");
  t.number("threshold",
           threshold,
           kShare,
           "P",
           "several labels: probability above which a label is predicted")
      .when_absent = "0.5";
  t.number("top-losses",
           top_losses,
           {.low = 0, .high = 100000},
           "N",
           "list the N images with the largest loss; --save draws as many, or 16");
  t.text("predictions",
         predictions,
         "FILE",
         "write the prediction, probabilities and loss of each image, as .csv or .json");
  t.text("save",
         save,
         "DIR",
         "write tables and drawings: of classes confusion, classes and calibration, of several "
         "labels labels.csv and precision-recall.png, of real numbers values.csv and "
         "predictions.png; and top-losses.png");
  return t;
}

/// `learn eval RUN|CKPT`: loss and scores of each class, label or value, the most confused pairs
/// and calibration of classes, and the other requested results. The checkpoint describes its model
/// and data. Throws CheckpointError, DataError, IoError, UsageError, also for results that its
/// targets do not have, and DivergedError, after all output, if a prediction or the loss is not
/// finite.
int eval(const EvalOptions& options) {
  check_options(options);
  const fs::path path = saved_weights(run_argument(options.path, options.out), options.weights);
  const SafetensorsFile file(path);
  const ExperimentOptions trained = trained_with(file);
  const SavedModel saved = saved_model(file);
  check_targets(options, saved);

  const bool elsewhere = !options.data.empty() || !options.data_dir.empty();
  const DataSection known = elsewhere ? trained.data : saved_data(trained.data, file);
  DataSection measured = known;
  if (elsewhere) measured.data_dir = options.data_dir;
  if (!options.data.empty()) measured.data = options.data;
  check_results(options, path, saved.target_kind, measured);
  Context ctx(options.compute.context_options());
  const data::Dataset data = load_data(options, known, trained.device.seed, saved);
  check_samples(data, saved);
  const Evaluations all = evaluate(ctx,
                                   path,
                                   saved,
                                   data,
                                   {.batch_size = options.batch_size,
                                    .workers = options.workers,
                                    .threshold = options.threshold.value_or(kLabelThreshold),
                                    .views = views_of(options.tta)});
  const Evaluation& evaluation = *all.measured;
  const MetricValues metrics = chosen_metrics(ctx, options, evaluation);
  constexpr std::int64_t kDrawn = 16;
  const std::string title = fmt::format("{} on {}", saved.model, describe(options, data));
  if (!options.predictions.empty()) write_predictions(evaluation, options.predictions);
  if (!options.save.empty())
    save_evaluation(evaluation,
                    options.top_losses > 0 ? options.top_losses : kDrawn,
                    saved.model,
                    title,
                    options.save);
  if (options.json) {
    console::print(to_json(options, path, saved, all, metrics));
  } else {
    console::print(fmt::format(
        "{}{}{}\n\n{}\n{}{}{}{}{}{}{}",
        path.string(),
        separator(),
        title,
        evaluation.table(),
        loss_line(evaluation),
        all.plain == nullptr ? "" : "without --tta  " + loss_line(*all.plain),
        differences(trained, saved.target_kind),
        to_text(metrics),
        evaluation.details(options.confusion),
        top_losses_table(evaluation, options.top_losses),
        options.save.empty() ? ""
                             : fmt::format("\ntables and drawings are in {}\n", options.save)));
  }
  const double loss = evaluation.predictions().loss;
  const std::int64_t undecided = evaluation.undecided();
  if (undecided == 0 && std::isfinite(loss)) return 0;
  fail<DivergedError>(
      "'{}' is unusable: the loss is {}, and {} of {} images have a NaN in their predictions",
      path.string(),
      without_nan_sign(loss),
      undecided,
      evaluation.size());
}

}  // namespace

void register_eval(Commands& commands) {
  commands.add<EvalOptions>(
      {.name = "eval",
       .group = Group::use,
       .place = 0,
       .help = "evaluate a trained model",
       .arguments = {{.name = "RUN|FILE|last", .help = kRunHelp, .required = true}},
       .examples = {{"Evaluate the latest run and show its most common errors",
                     "learn eval last --confusion"},
                    {"Evaluate a run on other images, and save tables and drawings",
                     "learn eval runs/train --data ~/more --save errors"},
                    {"Measure the gain of mirror images, as JSON",
                     "learn eval last --tta mirror --json"}}},
      [](EvalOptions& o, const Parsed& parsed) {
        o.path = parsed.argument();
        return eval(o);
      });
}

}  // namespace learn::cli
