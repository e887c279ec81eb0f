#pragma once
#include "data/dataset.h"
#include "data/files/file_tree.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn::data {

/// How the images of a data set are read from their files.
struct DecodeFilesOptions {
  /// Scale images to cover this size and cut the middle out; if not set, all must have one size,
  /// and need no more memory than 1 GiB and a hundred times what the files have.
  std::optional<ImageSize> size;
  std::int64_t channels = 3;  ///< 3: RGB; 1: grey
  /// Largest share of files that may be impossible to decode; they are skipped, with a warning that
  /// lists them, and put into `skipped`.
  double max_bad = 0;
  bool say_scaled = false;  ///< in the log, how many images were
  int threads = 0;          ///< that decode; 0: physical cores
  DataProgress progress;
  std::vector<SkippedFile>* skipped = nullptr;  ///< gets those that `max_bad` lets pass
  /// Leave the images in their files, to be decoded when they are needed: `stream_files`, with a
  /// cache of so many bytes. Needs `size`, and a tree that is held by a shared pointer.
  bool stream = false;
  std::int64_t cache_bytes = 0;
};

/// Throws UsageError for options that cannot be.
void check_decoding(const DecodeFilesOptions& options);

/// Says in an error text how to have images scaled.
inline constexpr const char* kGiveSize =
    "set one size for all: --image-size N, or append ':size=N' to the path";

/// The images of `files`, whose names, labels or targets `labelled` has in the same order. `where`:
/// the folder or list they come from, for messages. Throws UsageError for options that cannot be,
/// DataError, with paths, for files that cannot be decoded, several image sizes, images that do not
/// fit into memory, and a class of which no image is left.
[[nodiscard]] Dataset decode_files(const FileTree& tree,
                                   const std::string& where,
                                   const std::vector<std::filesystem::path>& files,
                                   Dataset labelled,
                                   const DecodeFilesOptions& options);

/// Throws DataError, whose text begins with `before`, unless both parts have images of one size.
void check_same_size(const DataPair& pair, const std::string& before);

}  // namespace learn::data
