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

/// Maximum side of images in options, in pixels: one image of this size takes 768 MiB.
inline constexpr Range kImageSide{.low = 1, .high = 1 << 14};

/// Options for every data set. Options that only some sets have are part of the spec.
struct DataOptions {
  /// Location of published data: the folder that holds cifar-10-batches-bin (or is it) or
  /// cifar-10-binary.tar.gz. Empty: $LEARN_DATA, then ./data.
  std::filesystem::path directory;
  std::vector<std::string> classes;      ///< only these, labelled in this order; empty: all
  std::int64_t train_limit = 0;          ///< number of training images, for quick runs; 0: all
  std::int64_t valid_limit = 0;          ///< number of validation images; 0: all
  std::optional<double> valid_fraction;  ///< validate on a share of the training images instead
  std::uint64_t seed = 42;               ///< of that split
  int threads = 0;                       ///< decoding and drawing threads; 0: physical cores
  DataProgress progress;
  /// Load the data for evaluating a trained model into `valid`, and leave `train` empty: the test
  /// images of a published set, or the `evaluation_folder` of a folder, scaled to this size, the
  /// model's input. `classes` are the model's; train_limit and valid_fraction are ignored.
  std::optional<ImageSize> evaluation;
};

using DataRegistry = Registry<DataPair(const DataOptions&)>;

/// The data sets known by name, and "folder", "csv" and "list" for those given by path. A source
/// file of this folder adds its sets in a function `register_NAME(DataRegistry&)`.
[[nodiscard]] DataRegistry dataset_registry();

/// Returns the spec of a data set that a user names: by name with options ("cifar10:verify=false");
/// by the path of an image folder, of CIFAR's binary files, or of an archive of either
/// (file_tree.h), with the options of "folder" ("photos:size=64"); or by the path of a list of
/// images with the options of "csv" (.csv, .tsv) or "list" (.txt, .lst). It is a path if it is not
/// the name of a data set and contains a slash or exists. Throws UsageError for an unknown name or
/// option.
[[nodiscard]] Spec dataset_spec(std::string_view text);

/// Returns whether the set is given by path, its option "path".
[[nodiscard]] bool lies_at_path(const Spec& spec);

/// Loads a data set as `dataset_spec` reads it; "auto" is CIFAR-10. Never replaces a set by
/// another. Throws UsageError for an unknown name, for an option that would have no effect, and for
/// "auto" if CIFAR-10 is not found; DataError for missing or damaged data, and for a single class.
[[nodiscard]] DataPair load(std::string_view spec, const DataOptions& options = {});
[[nodiscard]] DataPair load(const Spec& spec, const DataOptions& options);

/// Returns the location of the files of CIFAR-10 or CIFAR-100; empty if they are not found.
[[nodiscard]] std::filesystem::path find_cifar10(const DataOptions& options);
[[nodiscard]] std::filesystem::path find_cifar100(const DataOptions& options);

}  // namespace learn::data
