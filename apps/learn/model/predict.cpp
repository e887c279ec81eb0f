#include "apps/learn/cli/command.h"
#include "apps/learn/common/compute_options.h"
#include "apps/learn/common/run_argument.h"
#include "apps/learn/common/standard_input.h"
#include "apps/learn/common/tta_option.h"
#include "apps/learn/model/prediction_writer.h"
#include "data/files/image_files.h"
#include "data/images/resize.h"
#include "data/sets/label_table.h"
#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/core/threads/processors.h"
#include "framework/core/threads/thread_pool.h"
#include "framework/inference/load_run.h"
#include "framework/runs/saved_weights.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace learn::cli {
namespace {

struct PredictOptions {
  std::string path;                    ///< a run's folder, a checkpoint or "last"
  std::vector<std::string> images;     ///< files, folders, archives, "-"
  std::optional<std::string> out;      ///< folder for "last"; default "runs"
  std::optional<std::string> weights;  ///< of a run; default "best"
  std::optional<std::int64_t> top;     ///< classes to show; default 3; 0: all
  std::optional<double> threshold;     ///< above which a label is predicted; default 0.5
  bool csv = false;
  bool json = false;
  std::string tta;  ///< a spec of `nn::view_registry`; empty: the image itself
  std::int64_t batch_size = 64;
  ComputeOptions compute;

  /// But for the arguments.
  [[nodiscard]] OptionTable table();
};

/// Words of the command line, of which one may be '-': standard input.
class Inputs {
 public:
  /// The path under which a word's file or folder can be opened. Throws UsageError for a second
  /// '-', and as `StandardInput`.
  [[nodiscard]] std::filesystem::path path_of(const std::string& word) {
    if (!is_piped(word)) return word;
    if (input_) fail<UsageError>("'-' (standard input) may be given only once");
    input_.emplace();
    return input_->spooled();
  }
  [[nodiscard]] static bool is_piped(const std::string& word) { return word == "-"; }
  [[nodiscard]] static std::string name_of(const std::string& word) {
    return is_piped(word) ? "standard input" : word;
  }

 private:
  std::optional<StandardInput> input_;
};

/// The requested images, or their errors.
class Images {
 public:
  explicit Images(const std::vector<std::string>& words) {
    for (const std::string& word : words) add(word);
  }

  [[nodiscard]] std::span<const data::ImageFile> all() const { return all_; }

 private:
  void add(const std::string& word) {
    try {
      const auto path = inputs_.path_of(word);
      for (data::ImageFile& file : data::image_files(path, Inputs::is_piped(word) ? "" : word)) {
        if (file.name.empty()) file.name = Inputs::name_of(word);
        all_.push_back(std::move(file));
      }
    } catch (const DataError& error) {
      all_.push_back({.name = Inputs::name_of(word), .error = error.what()});
    }
  }

  Inputs inputs_;
  std::vector<data::ImageFile> all_;
};

void set_prediction(PredictedImage& sample, Prediction prediction) {
  sample.prediction = std::move(prediction);
  if (!sample.prediction.valid())
    sample.error = "the model's output is NaN: its weights are not finite, or too large";
}

class ImagePrediction {
 public:
  ImagePrediction(Predictor predictor, int threads)
      : predictor_(std::move(predictor)), pool_(threads_or_cores(threads)) {}

  [[nodiscard]] std::vector<PredictedImage> operator()(std::span<const data::ImageFile> wanted) {
    std::vector<PredictedImage> out(wanted.size());
    std::vector<data::Image> images(wanted.size());
    const data::ImageSize input = predictor_.description().input;
    const std::int64_t channels = predictor_.description().channels;
    pool_.run(static_cast<std::int64_t>(wanted.size()), [&](std::int64_t at) {
      const auto i = static_cast<std::size_t>(at);
      out[i].name = wanted[i].name;
      try {
        // For a large image, only the part that the model uses is kept.
        images[i] = data::resize_and_crop(wanted[i].read(channels), input.height, input.width);
      } catch (const DataError& error) {
        out[i].error = error.what();
      }
    });
    std::erase_if(images, [](const data::Image& image) { return image.pixels.empty(); });
    std::vector<Prediction> predictions = predictor_(images);
    auto prediction = predictions.begin();
    for (PredictedImage& image : out) {
      if (!image.error.empty()) continue;
      set_prediction(image, std::move(*prediction++));
    }
    return out;
  }

 private:
  Predictor predictor_;
  ThreadPool pool_;
};

/// The rows of the tables, or of each that cannot be read its error.
class Rows {
 public:
  Rows(const std::vector<std::string>& words, const SavedModel& model) {
    for (const std::string& word : words) add(word, model);
  }

  [[nodiscard]] std::vector<PredictedImage> predicted(Predictor& predictor) const {
    std::vector<PredictedImage> out;
    std::vector<Prediction> predictions = predictor.of_features(values_);
    auto next = predictions.begin();
    for (PredictedImage row : rows_) {
      if (row.error.empty()) set_prediction(row, std::move(*next++));
      out.push_back(std::move(row));
    }
    return out;
  }

 private:
  void add(const std::string& word, const SavedModel& model) {
    const std::string name = Inputs::name_of(word);
    try {
      const data::FeatureRows rows =
          data::read_feature_rows(inputs_.path_of(word), name, model.features);
      for (const std::string& row : rows.names) rows_.push_back({.name = row});
      values_.insert(values_.end(), rows.values.begin(), rows.values.end());
    } catch (const DataError& error) {
      rows_.push_back({.name = name, .error = error.what()});
    }
  }

  Inputs inputs_;
  std::vector<PredictedImage> rows_;
  std::vector<float> values_;
};

PredictionFormat format_of(const PredictOptions& o) {
  if (o.csv && o.json) fail<UsageError>("--csv and --json: one of them, or neither for a table");
  return o.csv ? PredictionFormat::csv : o.json ? PredictionFormat::json : PredictionFormat::text;
}

/// Throws UsageError for what features do not have.
void check_features(const PredictOptions& o, const SavedModel& model) {
  if (!o.tta.empty()) fail<UsageError>("--tta is for images, the model takes features");
  if (model.features.empty())
    fail<UsageError>(
        "'{}' does not record the names of its features, so they cannot be found in a table: "
        "predict in a program, with Predictor::of_features",
        model.model);
}

/// Writes predictions as they come, warns of those that are missing, and counts both.
class Output {
 public:
  explicit Output(std::unique_ptr<PredictionWriter> writer) : writer_(std::move(writer)) {}

  void write(std::span<const PredictedImage> samples) {
    for (const PredictedImage& sample : samples)
      if (!sample.error.empty()) {
        log::warn("[predict] '{}': {}", sample.name, sample.error);
        ++bad_;
      }
    all_ += samples.size();
    writer_->write(samples);
  }

  /// Throws DataError if one is missing.
  void end(const char* what) {
    writer_->end();
    if (bad_ > 0) fail<DataError>("{} of {} {} have no prediction", bad_, all_, what);
  }

 private:
  std::unique_ptr<PredictionWriter> writer_;
  std::size_t all_ = 0;
  std::size_t bad_ = 0;
};

void predict_images(const PredictOptions& o, Predictor predictor, Output& output) {
  ImagePrediction predict_all(std::move(predictor), static_cast<int>(o.compute.threads));
  const Images images(o.images);
  const auto batch = static_cast<std::size_t>(o.batch_size);
  for (std::span<const data::ImageFile> rest = images.all(); !rest.empty();) {
    const auto wanted = rest.first(std::min(batch, rest.size()));
    output.write(predict_all(wanted));
    rest = rest.subspan(wanted.size());
  }
}

/// Throws UsageError for what the model's targets do not have.
Shown shown_of(const PredictOptions& o, const SavedModel& model) {
  Shown shown;
  if (o.top) model.require(TargetKind::classes, fmt::format("--top {}", *o.top));
  if (o.threshold) model.require(TargetKind::labels, fmt::format("--threshold {}", *o.threshold));
  shown.top = o.top.value_or(shown.top);
  shown.threshold = o.threshold.value_or(shown.threshold);
  return shown;
}

OptionTable PredictOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("weights", weights, "best|last|...", "which checkpoint of a run").when_absent = "best";
  declare_runs_folder(t, out);
  t.number("top", top, kNotNegative, "N", "classes to show of each image; 0: all").when_absent =
      "3";
  t.number(
       "threshold", threshold, kShare, "P", "several labels: show labels above this probability")
      .when_absent = "0.5";
  t.flag("csv", csv, "print comma-separated values, including errors of unreadable images");
  t.flag("json", json, "print an array of JSON objects, including the same errors");
  declare_tta(t, tta);
  t.number("batch-size", batch_size, {.low = 1, .high = 1 << 20}, "N", "images at a time")
      .short_name = "b";
  compute.declare(t, true);
  return t;
}

/// `learn predict RUN|FILE IMAGE...`: predictions of a trained model for each image, in the order
/// of the arguments. An unreadable image gets a warning, and the others are predicted; then throws
/// a DataError with their number. Throws CheckpointError, DeviceError, IoError, UsageError, also
/// for options that the model's targets do not have.
int predict(const PredictOptions& o) {
  const PredictionFormat format = format_of(o);
  Predictor predictor = load_run(run_argument(o.path, o.out),
                                 {.context = o.compute.context_options(),
                                  .batch_size = o.batch_size,
                                  .views = views_of(o.tta),
                                  .dtype = o.compute.dtype()},
                                 o.weights);
  const SavedModel& model = predictor.description();
  const bool images = model.input.height > 0;
  if (!images) check_features(o, model);
  Output output(make_prediction_writer(
      format, make_prediction_form(model, shown_of(o, model)), images ? "image" : "row"));
  if (images)
    predict_images(o, std::move(predictor), output);
  else
    output.write(Rows(o.images, model).predicted(predictor));
  output.end(images ? "images" : "rows or tables");
  return 0;
}

}  // namespace

void register_predict(Commands& commands) {
  commands.add<PredictOptions>(
      {.name = "predict",
       .group = Group::use,
       .place = 1,
       .help = "classify images with a trained model",
       .arguments = {{.name = "RUN|FILE|last", .help = kRunHelp, .required = true},
                     {.name = "IMAGE",
                      .help = "JPEG, PNG, WebP, TIFF, BMP, GIF or PNM files, folders or archives "
                              "of them, or - for one of these from standard input; images are "
                              "scaled and cropped to the model's input around their centre",
                      .required = true,
                      .several = true}},
       .examples = {{"Classify images and show the five most probable classes",
                     "learn predict last cat.jpg dog.jpg --top 5"},
                    {"Classify a folder, as CSV", "learn predict runs/train ~/photos --csv"},
                    {"Predict labels with a probability above 0.3",
                     "learn predict last beach.jpg --threshold 0.3"},
                    {"Classify a file whose name starts with a dash",
                     "learn predict last -- -odd.jpg"}}},
      [](PredictOptions& o, const Parsed& parsed) {
        o.path = parsed.argument();
        o.images = parsed.arguments[1];
        return predict(o);
      });
}

}  // namespace learn::cli
