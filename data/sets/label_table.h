#pragma once
#include "data/sets/labelled_files.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::data {

/// Which columns of a table (framework/io/csv.h) hold what.
struct TableColumns {
  /// Numbers that are the samples, in this order; none: the samples are images.
  std::vector<std::string> features;
  /// Empty: the one called image, file, filename, path, name or the like, else the first.
  std::string image;
  /// Empty: the one called label, labels, class, tags or the like, else the second; of a table with
  /// features the only one that is left.
  std::string label;
  /// Empty: the one called split or is_valid, if there is one. Its cells are train, valid (val,
  /// validation) or test, or true and false, which is true for validation; an empty one is train.
  std::string split;
  std::vector<std::string> targets;  ///< real numbers to be predicted, in place of labels
  std::string label_delim;  ///< between the labels of a cell, of which there may be several
  std::string suffix;       ///< to be added to the names of files: ".jpg"
};

/// Whether tables call the column of images so: file, path, ...
[[nodiscard]] bool is_image_column(const std::string& name);

/// The rows of a table as people and spreadsheets write it (unicode.h, `parse_spreadsheet`), with
/// the file names as they stand there. A column without a name, as pandas writes its index, is
/// passed over where columns are found by their place. The first line is a row if it names an
/// image, of `tree` or by its ending; that is taken of a table of two columns, files and labels,
/// with a warning, and refused of others. Which columns were taken goes to the log. `separator`
/// '\0': found in the table. Throws DataError, with file, line and text, for what is not there or
/// cannot be read, UsageError for a column that is used twice.
[[nodiscard]] LabelledFiles read_label_table(const FileTree& tree,
                                             const std::filesystem::path& table,
                                             char separator,
                                             const TableColumns& columns);

/// Rows of numbers without targets.
struct FeatureRows {
  std::vector<std::string> names;  ///< of each row its file and line: "t.csv:2"
  std::vector<float> values;       ///< (rows, columns)
};
/// The columns of these names, in that order. `name`: of the file, for messages. Throws as above.
[[nodiscard]] FeatureRows read_feature_rows(const std::filesystem::path& table,
                                            const std::string& name,
                                            const std::vector<std::string>& columns);

}  // namespace learn::data
