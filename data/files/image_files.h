#pragma once
#include "data/files/file_tree.h"
#include "data/images/image.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace learn::data {

/// An image that is not decoded yet, or the error for one or more that cannot be read.
struct ImageFile {
  std::string name;  ///< as shown to the user: "photos/cat.jpg", "photos.zip/cat.jpg"
  std::string path;  ///< path in `tree`, or of the file without a tree
  std::shared_ptr<const FileTree> tree;  ///< the tree that holds it, if any
  std::string error;                     ///< why it cannot be read, as far as known

  /// Decodes the image (`decode_image`) to RGB or to one grey channel. Thread-safe. Throws
  /// DataError, whose text does not name the file.
  [[nodiscard]] Image read(std::int64_t channels = 3) const;
};

/// Returns the image in a file, or all images below a folder or in an archive (`open_archive`),
/// sorted by path. `name`: the user's name for `path`. Files that are not images
/// (`why_passed_over`) are counted in the log. A folder in it, or a member or the rest of an
/// archive, that cannot be read becomes an entry with an error and does not affect the others.
/// Throws DataError, whose text does not name the path, if it is something else or holds no images.
[[nodiscard]] std::vector<ImageFile> image_files(const std::filesystem::path& path,
                                                 const std::string& name);

/// Decodes the image in a file. Throws DataError, whose text names it.
[[nodiscard]] Image read_image(const std::filesystem::path& path);

}  // namespace learn::data
