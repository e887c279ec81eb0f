#pragma once
#include "apps/learn/common/compute_options.h"
#include "framework/core/option_table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace learn::cli {

struct EvalOptions {
  std::string path;                    ///< a run's folder, a checkpoint or "last"
  std::optional<std::string> out;      ///< where "last" looks; else "runs"
  std::optional<std::string> weights;  ///< of a run; else "best"
  std::string data;                    ///< empty: what it was trained on
  std::string data_dir;
  std::string set = "valid";  ///< of what it was trained on: valid or train
  std::int64_t valid_limit = 0;
  std::int64_t batch_size = 256;
  std::int64_t workers = 2;
  std::vector<std::string> metrics;  ///< specs of the registry, beside what is always shown
  bool confusion = false;            ///< print the matrix
  bool mirrored = false;             ///< mean of each image and its mirror image
  bool json = false;                 ///< print an object instead of text
  std::optional<double> threshold;   ///< above which a label is there; else 0.5
  std::int64_t top_losses = 0;       ///< images of the largest loss to print, and to draw
  std::string predictions;           ///< a .csv or .json file to write
  std::string save;                  ///< a folder for tables and drawings
  ComputeOptions compute;

  /// The options, bound to these fields.
  [[nodiscard]] OptionTable table();
};

/// `learn eval RUN|CKPT`: loss and scores of each class, label or value, the most confused pairs
/// and calibration of classes, and what else is asked for. The checkpoint says what model and data
/// it belongs to. Throws CheckpointError, DataError, IoError, UsageError, also for what its targets
/// do not have, and DivergedError, after all output, if a prediction or the loss is not finite.
int eval(const EvalOptions& options);

}  // namespace learn::cli
