#pragma once
#include "data/dataset.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace learn::data {

/// Handles the files that cannot be decoded, `bad`, out of `files`. Up to the share `max_bad` they
/// are listed in the log and added to `skipped`, if given; a larger share is a DataError with some
/// examples. `where`: the folder or list they come from.
void skip_bad_files(const std::vector<SkippedFile>& bad,
                    std::size_t files,
                    const std::string& where,
                    double max_bad,
                    std::vector<SkippedFile>* skipped);

/// Throws DataError for a class that had files, according to `before`, and has lost all of them.
void check_classes_left(const std::vector<std::int64_t>& before,
                        const Dataset& left,
                        const std::string& where);

}  // namespace learn::data
