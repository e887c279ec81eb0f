#pragma once
#include "data/dataset.h"
#include "data/files/decode_files.h"
#include "data/files/image_files.h"

#include <string>
#include <vector>

namespace learn::data {

/// A data set of images that are decoded when they are needed, by the threads that need them, from
/// `files`, whose labels or targets `labelled` has in the same order. `where`: the folder or list
/// they come from, for messages. The options must give a size. With a `max_bad` of 0 nothing is
/// decoded here, and a damaged file is an error when its turn comes; else all are, once, and those
/// that cannot be are skipped. What is cached never changes a result. Throws UsageError for options
/// that cannot be; DataError if more than `max_bad` cannot be decoded, or all of a class.
[[nodiscard]] Dataset stream_files(Dataset labelled,
                                   std::vector<ImageFile> files,
                                   const std::string& where,
                                   const DecodeFilesOptions& options);

}  // namespace learn::data
