#include "framework/drawing/png.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"

#include <png.h>

namespace learn {

std::string encode_png(int width, int height, std::span<const std::uint8_t> rgb) {
  check<UsageError>(
      width > 0 && height > 0 &&
          rgb.size() == 3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
      "an image of {} x {} needs another number of bytes than {}",
      width,
      height,
      rgb.size());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string encoded(size, '\0');
  if (png_image_write_to_memory(&image, encoded.data(), &size, 0, rgb.data(), 0, nullptr) == 0)
    fail<IoError>("cannot encode an image of {} x {}: {}", width, height, image.message);
  encoded.resize(size);
  return encoded;
}

void write_png(const std::filesystem::path& path,
               int width,
               int height,
               std::span<const std::uint8_t> rgb) {
  const std::string encoded = encode_png(width, height, rgb);
  AtomicFile file(path);
  file.write(encoded);
  file.commit();
}

}  // namespace learn
