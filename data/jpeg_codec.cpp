#include "data/exif.h"
#include "data/image_formats.h"
#include "framework/core/error.h"

#include <turbojpeg.h>

#include <memory>
#include <utility>

namespace learn::data {
namespace {

/// CMYK as JPEG files have it, by Adobe's habit: 255 means no ink.
void cmyk_to_rgb(const std::vector<std::uint8_t>& cmyk, std::vector<std::uint8_t>& rgb) {
  for (std::size_t i = 0; i < rgb.size() / 3; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      rgb[3 * i + c] = static_cast<std::uint8_t>(cmyk[4 * i + c] * cmyk[4 * i + 3] / 255);
}

}  // namespace

Image decode_jpeg(Bytes file, std::int64_t max_pixels) {
  const std::unique_ptr<void, decltype(&tjDestroy)> handle(tjInitDecompress(), &tjDestroy);
  if (handle == nullptr) fail<Error>("the JPEG decoder cannot start: {}", tjGetErrorStr2(nullptr));
  const auto size = static_cast<unsigned long>(file.size());
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colorspace = 0;
  if (tjDecompressHeader3(
          handle.get(), file.data(), size, &width, &height, &subsampling, &colorspace) != 0)
    fail<DataError>("damaged JPEG header: {}", tjGetErrorStr2(handle.get()));
  // A file of tables only is not an error to the decoder.
  if (width <= 0 || height <= 0)
    fail<DataError>("damaged JPEG: it has no frame header, which says how large the image is");
  Image image = sized_image(width, height, max_pixels);
  const bool cmyk = colorspace == TJCS_CMYK || colorspace == TJCS_YCCK;
  std::vector<std::uint8_t> inks(cmyk ? image.pixels.size() / 3 * 4 : 0);
  // LIMITSCANS: a small progressive file may otherwise keep the decoder busy for hours.
  const int flags = TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
  if (tjDecompress2(handle.get(),
                    file.data(),
                    size,
                    cmyk ? inks.data() : image.pixels.data(),
                    width,
                    0,
                    height,
                    cmyk ? TJPF_CMYK : TJPF_RGB,
                    flags) != 0)
    fail<DataError>("damaged JPEG: {}", tjGetErrorStr2(handle.get()));
  if (cmyk) cmyk_to_rgb(inks, image.pixels);
  return upright(std::move(image), exif_orientation(exif_of_jpeg(file)));
}

}  // namespace learn::data
