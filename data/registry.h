#pragma once
#include "data/dataset.h"
#include "framework/core/registry.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace learn::data {

struct DataOptions {
  /// Where data lies: the folder that holds cifar-10-batches-bin (or is it) or
  /// cifar-10-binary.tar.gz. Empty: $LEARN_DATA, then ./data.
  std::filesystem::path directory;
  std::vector<std::string> classes;      ///< only these, labelled in this order; empty: all
  std::int64_t train_limit = 0;          ///< quick runs: so many training images; 0: all
  std::int64_t valid_limit = 0;          ///< the same for validation
  std::optional<double> valid_fraction;  ///< validate on a share of the training images instead
  std::uint64_t seed = 42;               ///< of that split
  std::int64_t image_size = 0;           ///< image folders: scale to this size; 0: as they are
  double max_bad = 0;                    ///< image folders: largest share of files to skip
  bool verify = false;                   ///< CIFAR: compare MD5 with the published ones
  int threads = 0;                       ///< to decode and to draw; 0: physical cores
  DataProgress progress;
};

/// The data sets known by name, with a line of help each.
using DataFactory = std::function<DataPair(const DataOptions&)>;
[[nodiscard]] Registry<DataFactory> datasets();

/// Whether `load` takes it for a path: it is not the name of a data set, and holds a slash or is
/// there.
[[nodiscard]] bool is_path(std::string_view name);

/// Loads a data set by name ("cifar10", "cifar100", "synthetic10", "synthetic10-hard"), or by the
/// path of an image folder, of the binary files of CIFAR, or of an archive of either (file_tree.h),
/// or with "auto": CIFAR-10
/// if it is found, otherwise synthetic10 with a note in the log. A set that was asked for by name
/// is never replaced by another. Throws UsageError for an unknown name, DataError for missing or
/// damaged data.
[[nodiscard]] DataPair load(std::string_view name, const DataOptions& options = {});

/// Where the files of CIFAR-10 or CIFAR-100 lie; empty if they are not found.
[[nodiscard]] std::filesystem::path find_cifar10(const DataOptions& options);
[[nodiscard]] std::filesystem::path find_cifar100(const DataOptions& options);

}  // namespace learn::data
