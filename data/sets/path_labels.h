#pragma once
#include "data/files/file_tree.h"
#include "data/sets/labelled_files.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace learn::data {

struct PathLabelOptions {
  /// Takes the class from the file's path (Pattern): from the path below the folder of its part if
  /// it matches there, else from the whole path. Empty: the class is the folder.
  std::string label_regex;
  /// Images whose path matches are for validation, the others for training; images in a test folder
  /// stay there.
  std::string valid_regex;
  bool parts = true;  ///< treat folders whose name means a part (`part_named`) as parts
  /// Folders with these names are classes.
  std::vector<std::string> known_classes;
};

/// The folder of a part, or for `Part::unsaid` of the whole set.
struct PartFolder {
  std::filesystem::path folder;
  std::filesystem::path classes;  ///< parent of the class folders: this folder, or deeper
};

struct PathLabels {
  LabelledFiles files;
  std::map<Part, PartFolder> folders;  ///< by part; without parts, only `Part::unsaid`
};

/// Returns the images of a tree, labelled by their paths. A single folder that holds other folders
/// is not a class but holds the classes. Images outside the classes or the parts are skipped.
/// Throws UsageError for an invalid expression, DataError for ambiguous parts, an image without a
/// label, and a folder that cannot be read.
[[nodiscard]] PathLabels label_by_path(const FileTree& tree, const PathLabelOptions& options);

}  // namespace learn::data
