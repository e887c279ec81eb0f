#pragma once
#include "data/dataset.h"
#include "data/files/decode_files.h"
#include "data/files/file_tree.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn::data {

struct FolderOptions {
  /// Only these classes, labelled in this order; empty: all class folders, in the order of
  /// `sort_class_names`.
  std::vector<std::string> classes;
  /// Split this share of the training images off for validation. With a folder of training images,
  /// other folders are then ignored; without one, the default is 0.2.
  std::optional<double> valid_fraction;
  std::uint64_t seed = 42;  ///< of that split
  /// Take an image's class from its path instead of its folder: the first group of this regular
  /// expression (pattern.h), or its whole match.
  std::string label_regex;
  /// Images whose path matches are for validation, all others for training.
  std::string valid_regex;
  /// Treat folders called train, valid, test or the like (`part_named`) as parts; otherwise they
  /// are classes.
  bool parts = true;
  std::int64_t train_limit = 0;  ///< as for `LabelledOptions`
  std::int64_t valid_limit = 0;
  DecodeFilesOptions decoding;
};

/// Reads PATH/train/CLASS/... and PATH/valid/CLASS/... (or, without it, PATH/test), or
/// PATH/CLASS/... with a split by `seed`; PATH is a folder or an archive of one. Class folders are
/// searched at any depth. A single folder around them is entered (`label_by_path`). Images are
/// ordered by class and path. Files that are not read are counted in the log and listed in
/// `passed_over`.
///
/// Images of a validation or test folder never become training images. If there is a train folder,
/// all training images come from it; a folder without one must not have a class named like a part.
/// Throws UsageError for contradictory options. Throws DataError, with paths, for missing or empty
/// folders, ambiguous parts, undecodable files, several image sizes, classes without a usable name,
/// and images that do not fit into memory.
[[nodiscard]] DataPair from_folder(const std::filesystem::path& path,
                                   const FolderOptions& options = {});
[[nodiscard]] DataPair from_folder(const FileTree& tree, const FolderOptions& options = {});

/// Returns the images for evaluating a trained model with `options.classes`. They come from the
/// first existing folder for tests, validation or training, in this order, or without such folders
/// from all of PATH/CLASS/... A class may be missing; an image of another class is a DataError.
/// Splits in the options are ignored. Logs how many images had to be scaled.
[[nodiscard]] Dataset evaluation_folder(const FileTree& tree, const FolderOptions& options);

}  // namespace learn::data
