#pragma once
#include "data/sets/labelled_files.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::data {

/// Parses the lines of a plain list (unicode.h): a path and, after a tab or else the last blank, a
/// label; with a `label_regex` (pattern.h) only a path, from which it takes the label. Skips empty
/// lines and lines that start with '#'. `tree`: holds the files. Throws DataError, with file, line
/// and text, for missing or unreadable files, and for a header, which a list does not have.
[[nodiscard]] LabelledFiles read_label_lines(const FileTree& tree,
                                             const std::filesystem::path& list,
                                             Part part,
                                             const std::string& label_regex);

}  // namespace learn::data
