#pragma once
#include "data/dataset.h"
#include "framework/core/options/registry.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace learn::data {

/// The side of the images that one may ask for, in pixels: one of the largest takes 768 MiB.
inline constexpr Range kImageSide{.low = 1, .high = 1 << 14};

/// Options of every data set. Options of single data sets are in the spec.
struct DataOptions {
  /// Where published data lie: the folder that holds cifar-10-batches-bin (or is it) or
  /// cifar-10-binary.tar.gz. Empty: $LEARN_DATA, then ./data.
  std::filesystem::path directory;
  std::vector<std::string> classes;      ///< only these, labelled in this order; empty: all
  std::int64_t train_limit = 0;          ///< number of training images, for quick runs; 0: all
  std::int64_t valid_limit = 0;          ///< the same for validation
  std::optional<double> valid_fraction;  ///< validate on a share of the training images instead
  std::uint64_t seed = 42;               ///< of that split
  int threads = 0;                       ///< to decode and to draw; 0: physical cores
  DataProgress progress;
  /// Load what to measure a finished model on, into `valid`, and leave `train` empty: the test
  /// images of a published set, all that `evaluation_folder` says of a folder; scaled to this size,
  /// the model's input. `classes` are those the model knows; train_limit and valid_fraction mean
  /// nothing here.
  std::optional<ImageSize> evaluation;
};

using DataRegistry = Registry<DataPair(const DataOptions&)>;

/// The data sets known by name, and "folder", "csv" and "list" for those known by path. A source of
/// this room adds its sets in a function `register_NAME(DataRegistry&)`.
[[nodiscard]] DataRegistry dataset_registry();

/// The spec of a data set that a user names: by name with options ("cifar10:verify=false"), or by
/// the path of an image folder, of the binary files of CIFAR, or of an archive of either
/// (file_tree.h), with those of "folder" ("photos:size=64"), or of a list of images with those of
/// "csv" (.csv, .tsv) or "list" (.txt, .lst). It is a path if it is not the name of
/// a data set and holds a slash or is there. Throws UsageError for an unknown name or option.
[[nodiscard]] Spec dataset_spec(std::string_view text);

/// Whether it is one of those known by path, which is their option "path".
[[nodiscard]] bool lies_at_path(const Spec& spec);

/// Loads a data set as `dataset_spec` reads it; "auto" is CIFAR-10. No set is ever replaced by
/// another. Throws UsageError for an unknown name, for an option that would have no effect, for
/// "auto" where CIFAR-10 is not found, and DataError for missing or damaged data, and for a single
/// class.
[[nodiscard]] DataPair load(std::string_view spec, const DataOptions& options = {});
[[nodiscard]] DataPair load(const Spec& spec, const DataOptions& options);

/// Where the files of CIFAR-10 or CIFAR-100 lie; empty if they are not found.
[[nodiscard]] std::filesystem::path find_cifar10(const DataOptions& options);
[[nodiscard]] std::filesystem::path find_cifar100(const DataOptions& options);

}  // namespace learn::data
