#pragma once
#include "data/files/file_tree.h"
#include "data/sets/labelled_files.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace learn::data {

struct PathLabelOptions {
  /// The class by the file's path (Pattern): below the folder of its part if it matches there, else
  /// the whole path. Empty: the class is the folder.
  std::string label_regex;
  /// Images whose path this matches are for validation, those of a folder for tests stay there, the
  /// others are for training.
  std::string valid_regex;
  bool parts = true;  ///< take folders whose name means a part (`part_named`) for one
  /// Folders of these names are classes.
  std::vector<std::string> known_classes;
};

/// A folder of a part, or, of `Part::unsaid`, of the whole set.
struct PartFolder {
  std::filesystem::path folder;
  std::filesystem::path classes;  ///< where the class folders lie: in it, or deeper
};

struct PathLabels {
  LabelledFiles files;
  std::map<Part, PartFolder> folders;  ///< one for each part; without parts, for `Part::unsaid`
};

/// The images of a tree, labelled by their paths. A single folder that contains other folders is
/// not a class: the classes are inside. Images outside of the classes or of the parts are skipped.
/// Throws UsageError for a wrong expression, DataError for parts that are not clear, an image
/// without a label, and a folder that cannot be read.
[[nodiscard]] PathLabels label_by_path(const FileTree& tree, const PathLabelOptions& options);

}  // namespace learn::data
