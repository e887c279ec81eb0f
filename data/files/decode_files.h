#pragma once
#include "data/dataset.h"
#include "data/files/file_tree.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn::data {

/// Options for reading the images of a data set from their files.
struct DecodeFilesOptions {
  /// Scale images to cover this size and crop the centre. If not set, all must have one size, and
  /// need at most 1 GiB plus a hundred times the size of the files.
  std::optional<ImageSize> size;
  std::int64_t channels = 3;  ///< 3: RGB; 1: grey
  /// Largest share of files that may fail to decode; they are skipped, listed in a warning, and
  /// added to `skipped`.
  double max_bad = 0;
  bool say_scaled = false;  ///< log the number of scaled images
  int threads = 0;          ///< decoding threads; 0: physical cores
  DataProgress progress;
  std::vector<SkippedFile>* skipped = nullptr;  ///< gets the files skipped under `max_bad`
  /// Leave the images in their files and decode them when they are needed: `stream_files`, with a
  /// cache of this many bytes. Needs `size`, and a tree held by a shared pointer.
  bool stream = false;
  std::int64_t cache_bytes = 0;
};

/// Throws UsageError for invalid options.
void check_decoding(const DecodeFilesOptions& options);

/// Returns the part of an error text that explains how to scale images.
inline constexpr const char* kGiveSize =
    "set one size for all: --image-size N, or append ':size=N' to the path";

/// Reads the images of a set that has labels or targets, and paths in the tree as `files`. `where`:
/// the folder or list they come from, for messages. Throws UsageError for invalid options.
/// Throws DataError, with paths, for files that cannot be decoded, several image sizes, images that
/// do not fit into memory, and a class without a remaining image.
[[nodiscard]] Dataset decode_files(const FileTree& tree,
                                   const std::string& where,
                                   Dataset labelled,
                                   const DecodeFilesOptions& options);

/// Throws DataError, whose text starts with `before`, unless both parts have images of one size.
void check_same_size(const DataPair& pair, const std::string& before);

}  // namespace learn::data
