#include "framework/report/png.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"

#include <png.h>

#include <vector>

namespace learn {

void write_png(const std::filesystem::path& path,
               int width,
               int height,
               std::span<const std::uint8_t> rgb) {
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
  std::vector<std::byte> encoded(size);
  if (png_image_write_to_memory(&image, encoded.data(), &size, 0, rgb.data(), 0, nullptr) == 0)
    fail<IoError>("cannot encode '{}': {}", path.string(), image.message);
  AtomicFile file(path);
  file.write(std::span(encoded).first(size));
  file.commit();
}

}  // namespace learn
