#pragma once
#include "framework/runtime/cuda_options.h"

#include <cstdint>
#include <optional>
#include <string>

namespace learn::cli {

struct EvalOptions {
  std::string path;                    ///< a run's folder, a checkpoint or "last"
  std::optional<std::string> out;      ///< where "last" looks; else "runs"
  std::optional<std::string> weights;  ///< of a run; else "best"
  std::string data;                    ///< empty: what it was trained on
  std::string data_dir;
  std::int64_t valid_limit = 0;
  std::int64_t batch_size = 256;
  std::int64_t workers = 2;
  std::string precision = "fp32";
  std::string device = "auto";
  bool winograd = true;
  CudaOptions cuda;  ///< but for `tf32`, which `precision` says
  std::int64_t threads = 0;
};

/// `learn eval RUN|CKPT`: loss, accuracy, a table per class with what it is confused with. The
/// checkpoint says what model and data it belongs to. Throws CheckpointError, DataError,
/// UsageError, and DivergedError, after the table, if a prediction or the loss is not finite.
int eval(const EvalOptions& options);

}  // namespace learn::cli
