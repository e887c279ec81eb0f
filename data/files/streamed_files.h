#pragma once
#include "data/dataset.h"
#include "data/files/decode_files.h"
#include "data/files/image_files.h"

#include <string>
#include <vector>

namespace learn::data {

/// Returns a data set of images from `files` that are decoded on demand, by the calling threads,
/// with labels or targets from `labelled` in the same order. `where`: the folder or list they come
/// from, for messages. The options must give a size. If `max_bad` is 0 nothing is decoded here, and
/// a damaged file is an error when it is read; otherwise all files are decoded once, and damaged
/// ones are skipped. The cache never changes a result. Throws UsageError for invalid options;
/// DataError if more than `max_bad` cannot be decoded, or all of a class.
[[nodiscard]] Dataset stream_files(Dataset labelled,
                                   std::vector<ImageFile> files,
                                   const std::string& where,
                                   const DecodeFilesOptions& options);

}  // namespace learn::data
