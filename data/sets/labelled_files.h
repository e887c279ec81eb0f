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

/// A file of an image and what is on it; or a row of features.
struct LabelledFile {
  std::filesystem::path path;   ///< in its tree; of features the file and line, "t.csv:7"
  std::vector<float> features;  ///< as many as `LabelledFiles::feature_names`
  /// One name for classes, any number for labels, none for values.
  std::vector<std::string> labels;
  std::vector<float> values;
  Part part = Part::unsaid;
  std::string where;  ///< what said so, for messages: "labels.csv, line 7"; empty: its path
};

struct LabelledFiles {
  std::string name;   ///< of the data set
  std::string where;  ///< the folder or list, for messages
  TargetKind kind = TargetKind::classes;
  std::vector<std::string> value_names;    ///< of values
  std::vector<std::string> feature_names;  ///< none: the samples are images
  std::vector<LabelledFile> files;
  std::vector<PassedOver> passed_over = {};  ///< of a folder or archive
};

/// Takes names of files as Windows writes them, with backslashes, where there are such files.
/// Throws DataError that ends with `hint` if none of the files is there, and for an absolute path
/// of Windows.
void find_files(const FileTree& tree, LabelledFiles& files, const std::string& hint);

struct LabelledOptions {
  /// Only files of these classes, labelled in this order; empty: all, as `sort_class_names` sorts.
  std::vector<std::string> classes;
  std::optional<double> valid_fraction;  ///< of the files for training, split off for validation
  std::uint64_t seed = 42;               ///< of that split
  DecodeFilesOptions decoding;
};

/// Training on the files for training and those of which nothing is said; validation on those for
/// it, else on those for tests, else on a share of the others, 0.2 if nothing is said. A class that
/// the validation part lacks is a warning. Throws UsageError for options that contradict each other
/// or the list, DataError for a part without files, a class without training images, and as
/// `decode_files`.
[[nodiscard]] DataPair read_labelled(const FileTree& tree,
                                     LabelledFiles files,
                                     const LabelledOptions& options);

/// The images to measure a finished model on, which knows `options.classes`: those for tests, else
/// those for validation, else all. Throws DataError for a class that it does not know.
[[nodiscard]] Dataset read_labelled_for_evaluation(const FileTree& tree,
                                                   LabelledFiles files,
                                                   const LabelledOptions& options);

}  // namespace learn::data
