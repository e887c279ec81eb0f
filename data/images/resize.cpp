#include "data/images/resize.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace learn::data {
namespace {

/// The source pixels of one output pixel, and their weights.
struct Taps {
  std::int64_t first;
  std::vector<float> weights;
};

/// Output pixels [0, count) of an axis with `size` source pixels, `scale` source pixels per output
/// pixel, the first output pixel starting at source position `origin`.
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

/// Converts (H,W,C) to (H,columns,C). `kFixed`: the number of channels, if known at compile time.
template <std::int64_t kFixed>
std::vector<float> shrink_columns(const Image& image, const std::vector<Taps>& columns) {
  const auto channels = static_cast<std::size_t>(kFixed > 0 ? kFixed : image.channels);
  const std::size_t source_row = static_cast<std::size_t>(image.width) * channels;
  std::vector<float> narrow(static_cast<std::size_t>(image.height) * columns.size() * channels);
  float* to = narrow.data();
  for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y)
    for (const Taps& tap : columns) {
      const std::uint8_t* from =
          image.pixels.data() + y * source_row + static_cast<std::size_t>(tap.first) * channels;
      for (const float weight : tap.weights) {
        for (std::size_t c = 0; c < channels; ++c) to[c] += weight * static_cast<float>(from[c]);
        from += channels;
      }
      to += channels;
    }
  return narrow;
}

/// Works row by row, so that neighbouring values are added up at the same time.
void shrink_rows(const std::vector<float>& narrow, const std::vector<Taps>& rows, Image& out) {
  const auto row_values = static_cast<std::size_t>(out.width * out.channels);
  std::vector<float> sums(row_values);
  std::uint8_t* to = out.pixels.data();
  for (const Taps& tap : rows) {
    std::ranges::fill(sums, 0.0F);
    const float* from = narrow.data() + static_cast<std::size_t>(tap.first) * row_values;
    for (const float weight : tap.weights) {
      for (std::size_t i = 0; i < row_values; ++i) sums[i] += weight * from[i];
      from += row_values;
    }
    // A float plus a half is exact in double, so this rounds to the nearest integer, and halves up.
    for (const float sum : sums)
      *to++ = static_cast<std::uint8_t>(std::min(255, static_cast<int>(double{sum} + 0.5)));
  }
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

  Image out{height, width, {}, image.channels};
  out.pixels.resize(static_cast<std::size_t>(height * width * image.channels));
  const std::vector<float> narrow = image.channels == 3   ? shrink_columns<3>(image, columns)
                                    : image.channels == 1 ? shrink_columns<1>(image, columns)
                                                          : shrink_columns<0>(image, columns);
  shrink_rows(narrow, rows, out);
  return out;
}

}  // namespace learn::data
