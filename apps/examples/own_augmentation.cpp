// A custom augmentation on in-memory images. The model sees only bright bars on a dark ground, and
// learns dark bars on a bright ground because half of the images are turned into negatives.
#include "data/loading/loaders.h"
#include "framework/learner/learner.h"
#include "models/registry.h"

#include <fmt/core.h>

using namespace learn;

/// Makes 16x16 images of a horizontal or vertical bar, whose position follows from the image's
/// index.
data::Dataset bars(std::uint8_t ground, std::uint8_t bar, int count) {
  data::Dataset out{
      .name = "bars", .synthetic = true, .height = 16, .width = 16, .classes = {"lies", "stands"}};
  for (int i = 0; i < count; ++i) {
    const int place = 2 + i / 2 % 12;
    for (int y = 0; y < 16; ++y)
      for (int x = 0; x < 16; ++x)
        out.pixels.insert(
            out.pixels.end(), 3, (i % 2 == 0 ? y : x) / 2 == place / 2 ? bar : ground);
    out.labels.push_back(i % 2);
  }
  return out;
}

data::PixelTransform negative() {
  return {[](std::span<std::uint8_t> pixels, data::RandomWords random) {
    if (random[0] % 2 == 0) return;
    for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(255 - value);
  }};
}

double accuracy_with(Context& ctx, std::vector<data::Transform> transforms) {
  data::LoadersOptions options{.augment = "none"};
  options.loader.batch_size = 32;
  options.loader.transforms = std::move(transforms);
  data::Loaders data(ctx, {bars(40, 200, 512), bars(200, 40, 128)}, options);
  Learner learn(ctx,
                models::make_model("mlp", data),
                data,
                {.metrics = {metrics::accuracy()}, .report = Report::off});
  learn.fit(4, 0.05F);
  return learn.results().metrics.front().second;
}

int main() {
  Context ctx;
  fmt::print("accuracy on negatives: {:.2f} without, ", accuracy_with(ctx, {}));
  fmt::print("{:.2f} with the augmentation\n", accuracy_with(ctx, data::compose(negative())));
}
