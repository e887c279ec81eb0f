#pragma once
#include "data/files/file_tree.h"
#include "data/images/image.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace learn::data {

/// An image that is not decoded yet, or what stands in the place of some and cannot be read.
struct ImageFile {
  std::string name;            ///< as a user knows it: "photos/cat.jpg", "photos.zip/cat.jpg"
  std::filesystem::path path;  ///< where it is in `tree`; if there is none, of the file
  std::shared_ptr<const FileTree> tree;  ///< what it is one of
  std::string error;                     ///< why it cannot be read, as far as that is known

  /// Decodes it (`decode_image`) to RGB or to one channel, grey. Threads may read at the same time.
  /// Throws DataError, whose text does not name the file.
  [[nodiscard]] Image read(std::int64_t channels = 3) const;
};

/// The image that a file is, or all images below a folder or in an archive (`open_archive`), sorted
/// by path. `name`: what the user calls `path`. Files that are not taken for images
/// (`why_passed_over`) are counted in the log. A folder in it, a member or the rest of an archive
/// that cannot be read is one of them, with an error, and costs no other. Throws DataError, whose
/// text does not name it, for what is neither or holds none.
[[nodiscard]] std::vector<ImageFile> image_files(const std::filesystem::path& path,
                                                 const std::string& name);

/// The image in a file. Throws DataError, whose text names it.
[[nodiscard]] Image read_image(const std::filesystem::path& path);

}  // namespace learn::data
