#pragma once
#include "data/sets/labelled_files.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::data {

/// The lines of a plain list (unicode.h): a path and, after a tab or else the last blank, a label;
/// with a `label_regex` (pattern.h) the path alone, whose label that is. Empty lines and those that
/// begin with '#' are passed over. Throws DataError, with file, line and text, for what is not
/// there or cannot be read, and for a header, which a list does not have; `tree`: where the files
/// lie.
[[nodiscard]] LabelledFiles read_label_lines(const FileTree& tree,
                                             const std::filesystem::path& list,
                                             Part part,
                                             const std::string& label_regex);

}  // namespace learn::data
