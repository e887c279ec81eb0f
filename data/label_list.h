#pragma once
#include "data/labelled_files.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::data {

/// Which columns of a table (framework/io/csv.h) say what.
struct TableColumns {
  /// Empty: the one called image, file, filename, path, name or the like, else the first.
  std::string image;
  /// Empty: the one called label, labels, class, tags or the like, else the second.
  std::string label;
  /// Empty: the one called split or is_valid, if there is one. Its cells are names of parts
  /// (`part_named`), or true and false, which is true for validation.
  std::string split;
  std::vector<std::string> targets;  ///< real numbers to be predicted, in place of labels
  std::string label_delim;  ///< between the labels of a cell, of which there may be several
  std::string suffix;       ///< to be added to the names of files: ".jpg"
};

/// The rows of a table. Which columns were taken goes to the log. Throws DataError, with file, line
/// and text, for what is not there or cannot be read.
[[nodiscard]] LabelledFiles read_label_table(const std::filesystem::path& table,
                                             char separator,
                                             const TableColumns& columns);

/// The lines of a plain list: a path and, behind a tab or else the last blank, a label; with a
/// `label_regex` (pattern.h) the path alone, whose label that is. Empty lines and those that begin
/// with
/// '#' are passed over. Throws as above.
[[nodiscard]] LabelledFiles read_label_lines(const std::filesystem::path& list,
                                             Part part,
                                             const std::string& label_regex);

}  // namespace learn::data
