#pragma once
#include "data/dataset.h"
#include "data/decode_files.h"
#include "data/file_tree.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn::data {

struct FolderOptions {
  /// Only these classes, labelled in this order; empty: all class folders, by name.
  std::vector<std::string> classes;
  std::string train = "train";  ///< folder of the training images
  /// Folder of the validation images; empty: the first of valid, val, test that is there.
  std::string valid;
  /// Split this share of the training images off for validation. With a train folder, other
  /// folders are then left alone; without one, 0.2 is taken if nothing is said.
  std::optional<double> valid_fraction;
  std::uint64_t seed = 42;  ///< of that split
  /// The class of an image by the path of its file, instead of its folder: what the first group of
  /// this regular expression (pattern.h) matches, or all that it matches.
  std::string label_regex;
  /// Images whose path this matches are for validation, all others for training.
  std::string valid_regex;
  DecodeFilesOptions decoding;
};

/// Reads PATH/train/CLASS/... (images by name: `has_image_name`) and PATH/valid/CLASS/... (or val,
/// test), or PATH/CLASS/... with a split by `seed`; PATH is a folder or an archive of one. Class
/// folders are searched in depth; names that begin with a dot and other files are ignored. Images
/// come in the order of their paths.
///
/// Images of a validation or test folder never become training images: a train folder means that
/// training images come from there alone, and a folder without one must not have a class called
/// like a split. Throws UsageError for options that contradict each other, and DataError, with
/// paths, for missing or empty folders, undecodable files, several image sizes, classes without a
/// usable name, and images that do not fit into memory.
[[nodiscard]] DataPair from_folder(const std::filesystem::path& path,
                                   const FolderOptions& options = {});
[[nodiscard]] DataPair from_folder(const FileTree& tree, const FolderOptions& options = {});

/// The images to measure a finished model on, which knows `options.classes`: those of PATH/test,
/// valid, val or train, the first that is there; otherwise every image of PATH/CLASS/... A class
/// may be missing; a folder of another class is a DataError. Splits of the options mean nothing
/// here. How many images had to be scaled goes to the log.
[[nodiscard]] Dataset evaluation_folder(const FileTree& tree, const FolderOptions& options);

}  // namespace learn::data
