#include "data/images/resize.h"

#include "framework/core/error.h"
#include "framework/kernels/augment/image_steps.h"
#include "framework/kernels/augment/work_memory.h"

#include <vector>

namespace learn::data {
namespace {

Image resize(const image::ResizeSource& from,
             std::int64_t channels,
             const image::Axis& rows,
             const image::Axis& columns) {
  image::WorkMemory needed;
  needed.scale(rows, columns, channels);
  std::vector<std::uint16_t> lines(static_cast<std::size_t>(needed.lines));
  std::vector<std::int32_t> taps(static_cast<std::size_t>(needed.taps));
  Image out{rows.result, columns.result, {}, channels};
  out.pixels.resize(static_cast<std::size_t>(out.height * out.width * channels));
  cpu::resize(from,
              static_cast<std::int32_t>(channels),
              rows,
              columns,
              {lines.data(), taps.data()},
              out.pixels.data());
  return out;
}

}  // namespace

Image resize_and_crop(const Image& image, std::int64_t height, std::int64_t width) {
  check<UsageError>(height > 0 && width > 0, "resize: to {}x{} pixels", width, height);
  if (image.height == height && image.width == width) return image;
  // The axis that shrinks less, or grows more, sets the scale.
  const bool by_height = image.height * width <= image.width * height;
  const auto axis = [&](std::int64_t size, std::int64_t count) {
    return image::Axis{static_cast<std::int32_t>(size),
                       static_cast<std::int32_t>(count),
                       by_height ? image.height : image.width,
                       by_height ? height : width};
  };
  return resize({image.pixels.data(), image.width * image.channels},
                image.channels,
                axis(image.height, height),
                axis(image.width, width));
}

Image resize_part(const Image& image,
                  const image::Window& part,
                  std::int64_t height,
                  std::int64_t width) {
  const std::int64_t stride = image.width * image.channels;
  return resize({image.pixels.data() + part.top * stride + part.left * image.channels, stride},
                image.channels,
                image::scaled(part.height, static_cast<std::int32_t>(height)),
                image::scaled(part.width, static_cast<std::int32_t>(width)));
}

}  // namespace learn::data
