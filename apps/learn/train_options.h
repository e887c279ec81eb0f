#pragma once
#include "apps/learn/config_file.h"
#include "apps/learn/option_table.h"
#include "framework/optim/learning_rates.h"
#include "framework/runtime/cuda_options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace learn::cli {

/// The options of `learn train`, with their defaults. One TOML key each, see `train_table`.
struct TrainOptions {
  // Data
  std::string data = "auto";
  std::string data_dir;
  std::vector<std::string> classes;
  double val_split = 0;
  std::string train_limit = "1.0";  ///< a count, or a share of the training images
  std::int64_t valid_limit = 0;
  std::int64_t image_size = 0;
  std::int64_t workers = 2;
  std::int64_t prefetch = 2;
  // Model
  std::string model = "small";
  std::int64_t width = 0;
  double dropout = 0;
  std::string pretrained;
  std::vector<std::string> split;
  std::string freeze = "none";
  // Schedule
  std::int64_t epochs = 10;
  std::int64_t batch_size = 128;
  std::int64_t accumulate = 1;
  std::vector<float> lr;
  std::string schedule = "one-cycle";
  std::optional<double> warmup;
  std::string optimizer = "adamw";
  std::optional<double> momentum;
  double weight_decay = 0.01;
  double clip_norm = 0;
  // Regularisation
  std::string augment = "basic";
  double label_smoothing = 0;
  double ema = 0;  ///< decay; 0: no average
  // Precision and device
  std::string precision = "fp32";
  bool flat_master = true;
  std::string loss_scale = "dynamic";
  std::string device = "auto";
  bool cuda_graph = false;
  CudaOptions cuda;  ///< but for `tf32`, which `precision` says
  std::int64_t threads = 0;
  std::int64_t seed = 42;
  // Run
  std::string out = "runs";
  std::string name = "train";
  std::int64_t save_every = 0;
  std::string monitor = "accuracy";
  std::int64_t patience = 0;
  std::vector<std::string> callbacks;
  bool plots = true;
  bool progress = true;
  // One call only
  std::string config;
  std::string preset;
  std::string resume;  ///< folder of the run to resume, once resolved
  bool exist_ok = false;
  bool dry_run = false;
  bool fast_dev_run = false;
  bool print_config = false;
  bool explain = false;
};

/// Adds the options of CUDA's libraries, bound to `options`.
void add_cuda_options(OptionTable& table, CudaOptions& options);
/// `options` with what a precision says of them.
[[nodiscard]] CudaOptions cuda_options(CudaOptions options, const std::string& precision);

/// The options of `learn train`, bound to `options`, which must outlive the table.
[[nodiscard]] OptionTable train_table(TrainOptions& options);

/// What the help says below them: the callbacks that --callbacks takes, with their options.
[[nodiscard]] std::string train_notes();

using Values = std::vector<std::pair<std::string, std::string>>;

/// Named sets of options. `help` says what each is for.
struct Preset {
  std::string name;
  std::string help;
  Values values;
};
[[nodiscard]] const std::vector<Preset>& presets();

/// Fills `options` from the command line's values: flag over configuration file over preset over
/// default; a run that is resumed stands in the place of the defaults, and must not be
/// contradicted. Then checks what must fit together. Throws UsageError, IoError, CheckpointError.
void resolve(TrainOptions& options, const OptionTable& table, const Values& command_line);

/// The learning rates to train with: what was given, or the optimizer's usual one.
[[nodiscard]] optim::LearningRates learning_rates(const TrainOptions& options);

}  // namespace learn::cli
