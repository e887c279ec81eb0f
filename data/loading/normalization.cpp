#include "data/loading/normalization.h"

#include "framework/core/error.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace learn::data {

namespace {

/// Mean and deviation of the values of one channel, from their number and sums.
struct Moments {
  double count = 0, sum = 0, squares = 0;

  void add_to(Normalization& out) const {
    const double mean = sum / count;
    const double variance = std::max(0.0, squares / count - mean * mean);
    out.mean.push_back(static_cast<float>(mean));
    // A constant channel carries no information: leave it at 0 instead of dividing by 0.
    out.std.push_back(variance > 0 ? static_cast<float>(std::sqrt(variance)) : 1.0F);
  }
};

Normalization measure_bytes(const Dataset& dataset) {
  const auto channels = static_cast<std::size_t>(dataset.channels);
  std::vector<std::array<std::int64_t, 256>> histogram(channels);
  const auto count = [&](std::span<const std::uint8_t> pixels) {
    for (std::size_t i = 0; i < pixels.size(); i += channels)
      for (std::size_t c = 0; c < channels; ++c) ++histogram[c][pixels[i + c]];
  };
  if (dataset.source == nullptr) {
    count(dataset.pixels);
  } else {
    const Dataset some = limited(dataset, kMeasured);
    std::vector<std::uint8_t> memory;
    for (std::int64_t i = 0; i < some.size(); ++i) count(some.read_image(i, memory));
  }
  Normalization out;
  for (const auto& of_channel : histogram) {
    Moments moments;
    for (std::size_t v = 0; v < 256; ++v) {
      const auto n = static_cast<double>(of_channel[v]);
      const double value = static_cast<double>(v) / 255;
      moments.count += n;
      moments.sum += n * value;
      moments.squares += n * value * value;
    }
    moments.add_to(out);
  }
  return out;
}

/// Uses differences to the first value, whose squares stay precise even if all values are large.
Normalization measure_floats(const Dataset& dataset) {
  const auto channels = static_cast<std::size_t>(dataset.channels);
  const std::span first = std::span(dataset.features).first(channels);
  std::vector<Moments> moments(channels);
  for (std::size_t i = 0; i < dataset.features.size(); ++i) {
    Moments& of_channel = moments[i % channels];
    const double value = double{dataset.features[i]} - double{first[i % channels]};
    of_channel.count += 1;
    of_channel.sum += value;
    of_channel.squares += value * value;
  }
  Normalization out;
  for (std::size_t c = 0; c < channels; ++c) {
    moments[c].add_to(out);
    out.mean[c] = static_cast<float>(moments[c].sum / moments[c].count + double{first[c]});
  }
  return out;
}

}  // namespace

Normalization for_channels(const Normalization& given, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  Normalization out = given;
  if (out.mean.empty()) out.mean.assign(count, 0.0F);
  if (out.std.empty()) out.std.assign(count, 1.0F);
  if (out.mean.size() != count || out.std.size() != count)
    fail<UsageError>("normalization: {} means and {} standard deviations for {} channels",
                     given.mean.size(),
                     given.std.size(),
                     channels);
  for (std::size_t c = 0; c < count; ++c)
    if (!(out.std[c] > 0) || !std::isfinite(out.std[c]) || !std::isfinite(out.mean[c]))
      fail<UsageError>(
          "normalization: channel {} has mean {} and standard deviation {}; both must be finite, "
          "the "
          "deviation above 0",
          c,
          out.mean[c],
          out.std[c]);
  return out;
}

Normalization measure(const Dataset& dataset) {
  dataset.validate();
  return dataset.features.empty() ? measure_bytes(dataset) : measure_floats(dataset);
}

Tensor denormalize(Context& ctx, const Batch& batch, const Normalization& normalization) {
  const Shape shape = batch.x.defined() ? batch.x.shape() : Shape{};
  const std::int64_t channels = shape.rank() == 4 ? shape[-1] - batch.padding : 0;
  if (channels < 1)
    fail<ShapeError>(
        "denormalize: a batch of images must be (N,H,W,C) with {} channels of padding, not {}",
        batch.padding,
        shape);
  if (batch.x.dtype() != DType::f32 && !is_half(batch.x.dtype()))
    fail<DTypeError>("denormalize: images must be f32, f16 or bf16, not {}", batch.x.dtype());
  const Normalization undo = for_channels(normalization, channels);
  const Tensor x = to_host(ctx, batch.x);
  Tensor out = host_tensor({shape[0], shape[1], shape[2], channels}, DType::f32);
  auto value = out.span<float>().begin();
  for (std::int64_t pixel = 0; pixel < out.elements() / channels; ++pixel)
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto from = static_cast<float>(get(x, pixel * shape[-1] + c));
      const auto of_channel = static_cast<std::size_t>(c);
      *value++ = from * undo.std[of_channel] + undo.mean[of_channel];
    }
  return out;
}

}  // namespace learn::data
