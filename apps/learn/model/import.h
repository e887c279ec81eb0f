#pragma once
#include "framework/core/option_table.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::cli {

struct ImportOptions {
  std::string file;                  ///< .safetensors, of PyTorch
  std::string model;                 ///< a spec; empty: what the file says of itself
  std::vector<std::string> classes;  ///< names, or one file of them by line
  std::int64_t image_size = 0;
  std::string normalize;
  std::string map;  ///< a file, or rules between semicolons
  std::string out;
  bool partial = false;
  std::int64_t seed = 42;

  /// But for the argument.
  [[nodiscard]] OptionTable table();
};

/// `learn import FILE.safetensors --model NAME --out FILE`: weights of PyTorch as a file of weights
/// that says what it is of, for `learn eval`, `predict`, `export` and `train --pretrained`. Throws
/// UsageError, CheckpointError, IoError.
int import_weights(const ImportOptions& options);

}  // namespace learn::cli
