#pragma once
#include "framework/core/option_table.h"

#include <optional>
#include <string>

namespace learn::cli {

struct ExportOptions {
  std::string path;                    ///< a run's folder, a checkpoint or "last"
  std::string file;                    ///< FILE.onnx or FILE.safetensors
  std::optional<std::string> out;      ///< where "last" looks; else "runs"
  std::optional<std::string> weights;  ///< of a run; else "best"
  bool fold = false;
  bool normalize = false;
  bool softmax = false;
  bool sigmoid = false;

  /// But for the arguments.
  [[nodiscard]] OptionTable table();
};

/// `learn export RUN|FILE FILE.onnx|FILE.safetensors`: a trained model for another runtime. Throws
/// CheckpointError, UsageError, IoError.
int export_model(const ExportOptions& options);

}  // namespace learn::cli
