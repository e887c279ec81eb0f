#pragma once
#include "apps/experiment/image_limit.h"
#include "data/dataset.h"
#include "data/loading/loader.h"
#include "data/loading/normalization.h"
#include "framework/core/options/option_table.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace learn {

/// The data of an experiment.
struct DataSection {
  std::string data = "auto";  ///< as `data::dataset_spec` reads it
  std::string data_dir;
  std::vector<std::string> classes;
  double val_split = 0;
  ImageLimit train_limit;
  std::int64_t valid_limit = 0;
  std::int64_t image_size = 0;
  std::string normalize = "auto";    ///< auto, measured, cifar10, or means and deviations
  std::string sampling = "uniform";  ///< or balanced
  bool drop_last = false;
  std::int64_t workers = 2;
  std::int64_t prefetch = 2;
  /// Location of the data if `data` does not exist relative to the current folder. Not an option:
  /// it comes from a checkpoint, see `saved_data`. Empty: `data` applies.
  std::filesystem::path found_at;
  /// Whether validation images are used. Not an option.
  bool validates = true;
  /// Upper limit on the samples of each part, for trial runs; 0: none. Not an option. A share of
  /// the training images, which must be counted first, is loaded as a whole.
  std::int64_t at_most = 0;

  void declare(OptionTable& table);
  /// Throws UsageError for options that contradict each other.
  void check() const;
  /// Unsets values as `TrainingSection::leave_out_without_effect` does.
  void leave_out_without_effect(const std::set<std::string>& given);
  /// Loads only one validation image, where that saves time. For commands that never use validation
  /// images.
  void leave_out_validation();
  /// Returns the folder or archive that the data are read from; empty if it does not exist, nothing
  /// if the data are computed.
  [[nodiscard]] std::optional<std::filesystem::path> place() const;
  /// Returns the number of training and validation samples without `at_most`, for data that were
  /// loaded with it.
  [[nodiscard]] std::int64_t train_size(const data::DataPair& loaded) const;
  [[nodiscard]] std::int64_t valid_size(const data::DataPair& loaded) const;
  /// Returns `place()` as a list, for `check_result_path`.
  [[nodiscard]] std::vector<std::filesystem::path> sources() const;
  /// Loads the data. Throws as `data::load` does.
  [[nodiscard]] data::DataPair load(std::int64_t seed,
                                    std::int64_t threads,
                                    data::DataProgress progress = {}) const;
  /// Loads the data for evaluating a trained model with these classes, see
  /// `DataOptions::evaluation`. `valid_limit` applies.
  [[nodiscard]] data::Dataset load_for_evaluation(data::ImageSize input,
                                                  const std::vector<std::string>& known_classes,
                                                  std::int64_t threads,
                                                  data::DataProgress progress = {}) const;
  /// Returns the requested normalization; nothing for auto, which `data::Loaders` handles.
  [[nodiscard]] std::optional<data::Normalization> normalization(const data::Dataset& train) const;
  /// Warns of options that have no effect on a set whose batches are made on a GPU.
  void warn_on_device() const;
  /// Returns the options for preparing batches.
  [[nodiscard]] data::LoaderOptions loader_options() const;
};

/// Declares `--data-dir`, for commands that use data sets.
Option& declare_data_dir(OptionTable& table, std::string& field);

/// Parses "R:G:B:R:G:B", means and standard deviations of values in [0,1], or as many for other
/// channels. Throws UsageError.
[[nodiscard]] data::Normalization parse_normalization(const std::string& text);

}  // namespace learn
