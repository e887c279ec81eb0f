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

/// Images that are read on demand instead of being kept in memory. Thread-safe.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  /// Writes the pixels (H,W,C) of an image, scaled to the size of its data set, to `pixels`. Throws
  /// DataError, whose text names the image, if it cannot be read.
  virtual void read(std::int64_t place, std::vector<std::uint8_t>& pixels) const = 0;
  /// Returns the image in its original size. Throws as `read` does.
  [[nodiscard]] virtual Image whole(std::int64_t place) const = 0;
  /// Returns the image in its original size; the text of its DataError does not name the image.
  [[nodiscard]] virtual Image decode(std::int64_t place) const = 0;
  /// Returns the text that identifies an image in a fingerprint, instead of its pixels.
  [[nodiscard]] virtual std::string identity(std::int64_t place) const = 0;
};

}  // namespace learn::data
