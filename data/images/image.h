#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace learn::data {

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  [[nodiscard]] bool operator==(const ImageSize&) const = default;
};

/// Pixels (H,W,C) of one image.
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels;
  std::int64_t channels = 3;  ///< 3: red, green, blue; 1: grey
};

/// Images that are not in memory but read when they are needed, by several threads at a time.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  /// Puts the pixels (H,W,C) of an image, brought to the size of its data set, into `pixels`.
  /// Throws DataError, whose text names it, for one that cannot be read.
  virtual void read(std::int64_t place, std::vector<std::uint8_t>& pixels) const = 0;
  /// The image in the size that it has by itself. Throws as `read`.
  [[nodiscard]] virtual Image whole(std::int64_t place) const = 0;
  /// The same; the text of its DataError does not name the image.
  [[nodiscard]] virtual Image decode(std::int64_t place) const = 0;
  /// What a fingerprint knows an image by in the place of its pixels.
  [[nodiscard]] virtual std::string identity(std::int64_t place) const = 0;
};

}  // namespace learn::data
