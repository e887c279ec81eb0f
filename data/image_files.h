#pragma once
#include "data/file_tree.h"
#include "data/image.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace learn::data {

/// An image that is not decoded yet.
struct ImageFile {
  std::string name;            ///< as a user knows it: "photos/cat.jpg", "photos.zip/cat.jpg"
  std::filesystem::path path;  ///< where it is in `tree`; if there is none, of the file
  std::shared_ptr<const FileTree> tree;  ///< what it is one of
  std::string problem = "";              ///< why it cannot be read, if that is known already

  /// Decodes it (`decode_image`). Threads may read at the same time. Throws DataError, whose text
  /// does not name the file.
  [[nodiscard]] Image read() const;
};

/// The image that a file is, or all .jpg, .jpeg and .png files below a folder or in an archive
/// (`open_archive`), sorted by path; with a problem what cannot be read: folders, links to nowhere
/// that are called like images, members of an archive and what is damaged behind them. `name`: what
/// the user calls `path`. Throws DataError, whose text does not name it, for what is neither or
/// holds none.
[[nodiscard]] std::vector<ImageFile> image_files(const std::filesystem::path& path,
                                                 const std::string& name);

/// The image in a file. Throws DataError, whose text names it.
[[nodiscard]] Image read_image(const std::filesystem::path& path);

}  // namespace learn::data
