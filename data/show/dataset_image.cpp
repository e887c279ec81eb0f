#include "data/show/dataset_image.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace learn::data {

namespace {

template <class S, class Byte>
plot::Image drawn(std::int64_t height,
                  std::int64_t width,
                  std::int64_t channels,
                  std::span<const S> values,
                  const Byte& byte) {
  plot::Image image{static_cast<int>(width), static_cast<int>(height), {}};
  const auto pixels = static_cast<std::size_t>(height * width);
  const auto each = static_cast<std::size_t>(channels);
  image.rgb.reserve(pixels * 3);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel)
    for (std::size_t c = 0; c < 3; ++c)
      image.rgb.push_back(byte(values[pixel * each + (each < 3 ? 0 : c)]));
  return image;
}

}  // namespace

plot::Image drawn_image(std::int64_t height,
                        std::int64_t width,
                        std::int64_t channels,
                        std::span<const std::uint8_t> pixels) {
  return drawn(height, width, channels, pixels, [](std::uint8_t v) { return v; });
}

plot::Image drawn_image(std::int64_t height,
                        std::int64_t width,
                        std::int64_t channels,
                        std::span<const float> values,
                        float black,
                        float white) {
  const float scale = white > black ? white - black : 1;
  return drawn(height, width, channels, values, [&](float v) {
    const float share = black == 0 && scale == 1 ? v : (v - black) / scale;
    return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0F, 1.0F)));
  });
}

std::pair<float, float> black_and_white(const Dataset& dataset) {
  if (dataset.features.empty()) return {0.0F, 1.0F};
  const auto [least, largest] = std::ranges::minmax_element(dataset.features);
  return {*least, *largest};
}

plot::Image image_of(const Dataset& dataset, std::int64_t i) {
  check<UsageError>(i >= 0 && i < dataset.size(),
                    "'{}' has {} images; image {} does not exist",
                    dataset.name,
                    dataset.size(),
                    i);
  if (!dataset.form().is_image())
    fail<UsageError>(
        "'{}' has no images to draw: each sample is {} numbers", dataset.name, dataset.channels);
  if (!dataset.features.empty()) {
    const auto [black, white] = black_and_white(dataset);
    return drawn_image(
        dataset.height, dataset.width, dataset.channels, dataset.features_of(i), black, white);
  }
  std::vector<std::uint8_t> memory;
  return drawn_image(
      dataset.height, dataset.width, dataset.channels, dataset.read_image(i, memory));
}

std::string title_of(const Dataset& dataset) {
  const bool unsaid = dataset.synthetic && dataset.name.find("synthetic") == std::string::npos;
  return dataset.name + (unsaid ? " (synthetic)" : "");
}

}  // namespace learn::data
