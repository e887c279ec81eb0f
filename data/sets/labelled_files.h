#pragma once
#include "data/dataset.h"
#include "data/files/decode_files.h"
#include "data/files/file_tree.h"
#include "data/images/passed_over.h"
#include "data/names/names.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn::data {

/// An image file with its labels or values; or a row of features.
struct LabelledFile {
  std::string path;             ///< in its tree; for features the file and line, "t.csv:7"
  std::vector<float> features;  ///< as many as `LabelledFiles::feature_names`
  /// One name for classes, any number for labels, none for values.
  std::vector<std::string> labels;
  std::vector<float> values;
  Part part = Part::unsaid;
  std::string where;  ///< source of the labels, for messages: "labels.csv, line 7"; empty: the path
};

struct LabelledFiles {
  std::string name;   ///< of the data set
  std::string where;  ///< the folder or list, for messages
  TargetKind kind = TargetKind::classes;
  std::vector<std::string> value_names;    ///< for values
  std::vector<std::string> feature_names;  ///< empty: the samples are images
  std::vector<LabelledFile> files;
  std::vector<PassedOver> passed_over = {};  ///< for a folder or archive
};

/// Accepts file names with Windows backslashes if such files exist. Throws DataError that ends with
/// `hint` if none of the files exists, and for an absolute Windows path.
void find_files(const FileTree& tree, LabelledFiles& files, const std::string& hint);

struct LabelledOptions {
  /// Only files of these classes, labelled in this order; empty: all, in the order of
  /// `sort_class_names`.
  std::vector<std::string> classes;
  std::optional<double> valid_fraction;  ///< share of the training files, split off for validation
  std::uint64_t seed = 42;               ///< of that split
  /// Limits as for `DataOptions`. Only the images within them are decoded, unless images may be
  /// skipped: then which of them exist is known only afterwards.
  std::int64_t train_limit = 0;
  std::int64_t valid_limit = 0;
  DecodeFilesOptions decoding;
};

/// Splits the files. Training uses those marked for training or not marked. Validation uses those
/// marked for validation, else those for tests, else a share of the others, 0.2 by default. A class
/// missing from the validation part is a warning. Throws UsageError for options that contradict
/// each other or the list, DataError for a part without files, a class without training images, and
/// as `decode_files` does.
[[nodiscard]] DataPair read_labelled(const FileTree& tree,
                                     LabelledFiles files,
                                     const LabelledOptions& options);

/// Returns the images for evaluating a trained model with `options.classes`: those for tests, else
/// those for validation, else all. Throws DataError for a class that the model does not have.
[[nodiscard]] Dataset read_labelled_for_evaluation(const FileTree& tree,
                                                   LabelledFiles files,
                                                   const LabelledOptions& options);

}  // namespace learn::data
