#pragma once
#include "data/dataset.h"
#include "data/image_files.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::data {

/// How images are read that stay in their files.
struct StreamOptions {
  ImageSize size;                ///< that all are scaled to (`resize_and_crop`); must be given
  std::int64_t channels = 3;     ///< 3: RGB; 1: grey
  std::int64_t cache_bytes = 0;  ///< of decoded, scaled images that are kept in memory
  /// Largest share of files that may be impossible to decode; they are skipped with a warning. For
  /// that all are decoded once. With 0 none is, and a damaged one is an error when its turn comes.
  double max_bad = 0;
  int threads = 0;  ///< for that pass; 0: physical cores
  DataProgress progress;
  std::vector<SkippedFile>* skipped = nullptr;  ///< gets those that `max_bad` lets pass
};

/// A data set of images that are decoded when they are needed, by the threads that need them, from
/// `files`, whose labels or targets `labelled` has in the same order. `where`: the folder or list
/// they come from, for messages. What is cached never changes a result. Throws UsageError for
/// options that cannot be; DataError if more than `max_bad` cannot be decoded, or all of a class.
[[nodiscard]] Dataset stream_files(Dataset labelled,
                                   std::vector<ImageFile> files,
                                   const std::string& where,
                                   const StreamOptions& options);

}  // namespace learn::data
