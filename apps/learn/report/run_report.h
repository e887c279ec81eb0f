#pragma once
#include "apps/experiment/options.h"
#include "apps/learn/common/compute_options.h"
#include "apps/learn/model/evaluation.h"
#include "callbacks/report/run_history.h"
#include "data/loading/loaders.h"
#include "framework/html/page.h"
#include "framework/nn/summary.h"
#include "framework/runs/run_record.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn::cli {

/// Content of a report in addition to the run's records.
struct RunReportOptions {
  std::optional<std::string> weights;  ///< which are measured; default "best"
  bool evaluate = true;                ///< on the validation images
  std::int64_t top_losses = 16;        ///< images
  std::int64_t images = 8;             ///< of the training, augmented
  std::string data_dir;                ///< of the data sets, if not where they were
  Measuring measuring;
  ComputeOptions compute;
};

/// A run as a report shows it.
struct RunReport {
  RunRecord record;
  callbacks::RunHistory history;
  struct Setting {
    std::string name;
    std::string value;  ///< as on the command line; empty: not set, or unknown
    std::string usual;  ///< the default
    bool by_default = false;
  };
  std::vector<Setting> settings;
  nn::Summary layers;
  std::vector<html::Block> evaluation;  ///< or the reason for its absence
  std::vector<html::Block> images;      ///< the same
};

/// Reads a run from its folder, measures it and draws its images. If the data no longer exist,
/// omits the parts that need them, with a warning and a note with the reason. `loaded`: the data,
/// if available; otherwise they are loaded. Throws CheckpointError for a run without a state,
/// IoError for one without a record, UsageError.
[[nodiscard]] RunReport report_run(const std::filesystem::path& run,
                                   const RunReportOptions& options,
                                   const data::Loaders* loaded = nullptr);

}  // namespace learn::cli
