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
  /// Only these classes, labelled in this order; empty: all class folders, as `sort_class_names`
  /// sorts them.
  std::vector<std::string> classes;
  /// Split this share of the training images off for validation. With a folder of training images,
  /// other folders are then left alone; without one, 0.2 is taken if nothing is said.
  std::optional<double> valid_fraction;
  std::uint64_t seed = 42;  ///< of that split
  /// The class of an image by the path of its file, instead of its folder: what the first group of
  /// this regular expression (pattern.h) matches, or all that it matches.
  std::string label_regex;
  /// Images whose path this matches are for validation, all others for training.
  std::string valid_regex;
  /// Take folders called train, valid, test or the like (`part_named`) for parts; else they are
  /// classes.
  bool parts = true;
  DecodeFilesOptions decoding;
};

/// Reads PATH/train/CLASS/... and PATH/valid/CLASS/... (or, if there is none, PATH/test), or
/// PATH/CLASS/... with a split by `seed`; PATH is a folder or an archive of one. Class folders are
/// searched in depth; a folder that stands alone around them is entered (`label_by_path`). Images
/// come in the order of their classes and paths. Files that are not read are counted in the log and
/// listed in `passed_over`.
///
/// Images of a validation or test folder never become training images: a train folder means that
/// training images come from there alone, and a folder without one must not have a class called
/// like a part. Throws UsageError for options that contradict each other, and DataError, with
/// paths, for missing or empty folders, parts that are not clear, undecodable files, several image
/// sizes, classes without a usable name, and images that do not fit into memory.
[[nodiscard]] DataPair from_folder(const std::filesystem::path& path,
                                   const FolderOptions& options = {});
[[nodiscard]] DataPair from_folder(const FileTree& tree, const FolderOptions& options = {});

/// The images to measure a finished model on, which knows `options.classes`: those for tests, else
/// for validation, else for training, the first of these folders that is there; without such
/// folders every image of PATH/CLASS/... A class may be missing; an image of another class is a
/// DataError. Splits of the options mean nothing here. How many images had to be scaled goes to the
/// log.
[[nodiscard]] Dataset evaluation_folder(const FileTree& tree, const FolderOptions& options);

}  // namespace learn::data
