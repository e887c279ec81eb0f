#include "data/resize.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace learn::data {
namespace {

/// Source pixels that make one output pixel, and their shares.
struct Taps {
  std::int64_t first;
  std::vector<float> weights;
};

/// Output pixels [0, count) of an axis that has `size` source pixels, `scale` source pixels per
/// output pixel, the first output pixel beginning at source position `origin`.
std::vector<Taps> make_taps(std::int64_t size, std::int64_t count, double scale, double origin) {
  const double reach = std::max(1.0, scale);
  std::vector<Taps> taps;
  taps.reserve(static_cast<std::size_t>(count));
  for (std::int64_t o = 0; o < count; ++o) {
    const double center = origin + (static_cast<double>(o) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(0, std::llround(center - reach));
    const auto last = std::min<std::int64_t>(size, std::llround(center + reach));
    Taps tap{first, {}};
    double sum = 0;
    for (std::int64_t s = first; s < last; ++s) {
      const double distance = std::abs(static_cast<double>(s) + 0.5 - center) / reach;
      const double weight = std::max(0.0, 1.0 - distance);
      tap.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : tap.weights) weight = static_cast<float>(weight / sum);
    taps.push_back(std::move(tap));
  }
  return taps;
}

}  // namespace

Image resize_and_crop(const Image& image, std::int64_t height, std::int64_t width) {
  check<UsageError>(height > 0 && width > 0, "resize: to {}x{} pixels", width, height);
  if (image.height == height && image.width == width) return image;
  const auto real = [](std::int64_t v) { return static_cast<double>(v); };
  const double scale = std::min(real(image.height) / real(height), real(image.width) / real(width));
  const auto origin = [&](std::int64_t size, std::int64_t count) {
    return (real(size) - real(count) * scale) / 2;
  };
  const auto rows = make_taps(image.height, height, scale, origin(image.height, height));
  const auto columns = make_taps(image.width, width, scale, origin(image.width, width));

  const std::int64_t channels = image.channels;
  std::vector<float> narrow(static_cast<std::size_t>(image.height * width * channels));
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      const Taps& tap = columns[static_cast<std::size_t>(x)];
      for (std::int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        auto from = static_cast<std::size_t>((y * image.width + tap.first) * channels + c);
        for (const float weight : tap.weights) {
          sum += weight * static_cast<float>(image.pixels[from]);
          from += static_cast<std::size_t>(channels);
        }
        narrow[static_cast<std::size_t>((y * width + x) * channels + c)] = sum;
      }
    }

  Image out{height, width, {}, channels};
  out.pixels.resize(static_cast<std::size_t>(height * width * channels));
  for (std::int64_t y = 0; y < height; ++y) {
    const Taps& tap = rows[static_cast<std::size_t>(y)];
    for (std::int64_t i = 0; i < width * channels; ++i) {
      float sum = 0;
      auto from = static_cast<std::size_t>(tap.first * width * channels + i);
      for (const float weight : tap.weights) {
        sum += weight * narrow[from];
        from += static_cast<std::size_t>(width * channels);
      }
      out.pixels[static_cast<std::size_t>(y * width * channels + i)] =
          static_cast<std::uint8_t>(std::clamp(std::lround(sum), 0L, 255L));
    }
  }
  return out;
}

Dataset resized(Dataset from, ImageSize size) {
  if (ImageSize{from.height, from.width} == size) return from;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(from.size() * size.height * size.width * from.channels));
  Image image{from.height, from.width, {}, from.channels};
  for (std::int64_t i = 0; i < from.size(); ++i) {
    const auto bytes = from.image(i);
    image.pixels.assign(bytes.begin(), bytes.end());
    const Image scaled = resize_and_crop(image, size.height, size.width);
    pixels.insert(pixels.end(), scaled.pixels.begin(), scaled.pixels.end());
  }
  from.pixels = std::move(pixels);
  from.height = size.height;
  from.width = size.width;
  return from;
}

}  // namespace learn::data
