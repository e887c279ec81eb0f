#include "data/normalization.h"

#include "framework/core/error.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <cmath>

namespace learn::data {

Normalization measure(const Dataset& dataset) {
  dataset.validate();
  check(dataset.channels == 3, "measure: {} channels, expected 3", dataset.channels);
  std::array<std::array<std::int64_t, 256>, 3> histogram{};
  for (std::size_t i = 0; i < dataset.pixels.size(); i += 3)
    for (std::size_t c = 0; c < 3; ++c) ++histogram[c][dataset.pixels[i + c]];
  Normalization out;
  for (std::size_t c = 0; c < 3; ++c) {
    double count = 0;
    double sum = 0;
    double squares = 0;
    for (std::size_t v = 0; v < 256; ++v) {
      const auto n = static_cast<double>(histogram[c][v]);
      const double value = static_cast<double>(v) / 255;
      count += n;
      sum += n * value;
      squares += n * value * value;
    }
    const double mean = sum / count;
    const double variance = std::max(0.0, squares / count - mean * mean);
    out.mean[c] = static_cast<float>(mean);
    // A channel of one value carries nothing: leave it at 0 instead of dividing by 0.
    out.std[c] = variance > 0 ? static_cast<float>(std::sqrt(variance)) : 1.0F;
  }
  return out;
}

Tensor denormalise(Context& ctx, const Batch& batch, const Normalization& normalization) {
  constexpr std::int64_t kColours = 3;
  const Shape shape = batch.x.defined() ? batch.x.shape() : Shape{};
  if (shape.rank() != 4 || shape[-1] != kColours + batch.padding)
    fail<ShapeError>("denormalise: a batch of images is (N,H,W,{}), this one is {}",
                     kColours + batch.padding,
                     shape);
  if (batch.x.dtype() != DType::f32 && !is_half(batch.x.dtype()))
    fail<DTypeError>("denormalise: images are f32, f16 or bf16, not {}", batch.x.dtype());
  const Tensor x = to_host(ctx, batch.x);
  Tensor out = host_tensor({shape[0], shape[1], shape[2], kColours}, DType::f32);
  auto value = out.span<float>().begin();
  for (std::int64_t pixel = 0; pixel < out.elements() / kColours; ++pixel)
    for (std::size_t c = 0; c < kColours; ++c) {
      const auto from =
          static_cast<float>(get(x, pixel * shape[-1] + static_cast<std::int64_t>(c)));
      *value++ = from * normalization.std[c] + normalization.mean[c];
    }
  return out;
}

}  // namespace learn::data
