#pragma once
#include "data/sets/labelled_files.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::data {

/// The columns of a table (framework/io/csv.h) and their use.
struct TableColumns {
  /// Numbers that are the samples, in this order; empty: the samples are images.
  std::vector<std::string> features;
  /// Empty: the one called image, file, filename, path, name or the like, else the first.
  std::string image;
  /// Empty: the one called label, labels, class, tags or the like, else the second; in a table with
  /// features, the only remaining one.
  std::string label;
  /// Empty: the one called split or is_valid, if there is one. Its cells are train, valid (val,
  /// validation) or test, or true and false, which is true for validation; an empty one is train.
  std::string split;
  std::vector<std::string> targets;  ///< real numbers to be predicted, instead of labels
  std::string label_delim;           ///< separates the labels of a cell, if there may be several
  std::string suffix;                ///< appended to the names of files: ".jpg"
};

/// Returns whether tables commonly use this name for the image column: file, path, ...
[[nodiscard]] bool is_image_column(const std::string& name);

/// Reads the rows of a table as people and spreadsheets write it (unicode.h, `parse_spreadsheet`),
/// with file names verbatim. A column without a name, such as the index of pandas, is skipped when
/// columns are found by position. The first line is a row if it names an image, by a file of `tree`
/// or by an image extension. Such a line is accepted, with a warning, in a table of two columns,
/// files and labels, and refused in others. Logs the columns it uses. `separator` '\0': detected.
/// Throws DataError, with file, line and text, for missing or unreadable content, UsageError for a
/// column that is used twice.
[[nodiscard]] LabelledFiles read_label_table(const FileTree& tree,
                                             const std::filesystem::path& table,
                                             char separator,
                                             const TableColumns& columns);

/// Rows of numbers without targets.
struct FeatureRows {
  std::vector<std::string> names;  ///< file and line of each row: "t.csv:2"
  std::vector<float> values;       ///< (rows, columns)
};
/// Reads the columns of these names, in that order. `name`: of the file, for messages. Throws as
/// `read_label_table` does.
[[nodiscard]] FeatureRows read_feature_rows(const std::filesystem::path& table,
                                            const std::string& name,
                                            const std::vector<std::string>& columns);

}  // namespace learn::data
