#include "data/loading/normalization.h"

#include "data/loading/loaders.h"
#include "framework/core/error.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "tests/data/images.h"
#include "tests/support/worse.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace learn;
using namespace learn::data;

namespace {

/// The worst distance of what is denormalized from the pixels that the batches of a set of all
/// values were made from, in steps of 1 / 255.
double worst_step(DType dtype, const Normalization& normalization) {
  Context ctx({.threads = 1});
  Dataset set = test::small_set(3, 16, 16);
  for (std::size_t i = 0; i < set.pixels.size(); ++i)
    set.pixels[i] = static_cast<std::uint8_t>(i / 3 % 256);
  Loader loader(ctx, set, {.batch_size = 2, .dtype = dtype, .normalization = normalization});
  loader.begin(0);
  double worst = 0;
  std::int64_t image = 0;
  for (Batch batch; loader.next(batch); image += batch.size()) {
    const Tensor pixels = denormalize(ctx, batch, normalization);
    REQUIRE(pixels.shape() == Shape{batch.size(), 16, 16, 3});
    REQUIRE(pixels.dtype() == DType::f32);
    for (std::int64_t i = 0; i < pixels.elements(); ++i)
      worst = test::worse(
          worst,
          std::abs(255 * get(pixels, i) -
                   set.pixels[static_cast<std::size_t>(image * set.image_bytes() + i)]));
  }
  CHECK(image == 3);
  return worst;
}

/// A tensor of this shape and dtype, with some channels of padding.
Batch batch_of(const Shape& shape, DType dtype, std::int64_t padding = 0) {
  Batch batch;
  batch.x = host_tensor(shape, dtype);
  for (std::int64_t i = 0; i < batch.x.elements(); ++i) set(batch.x, i, static_cast<double>(i % 8));
  batch.padding = padding;
  return batch;
}

}  // namespace

TEST_CASE("measure: any number of channels") {
  Dataset grey = test::small_set(2, 1, 1);
  grey.channels = 1;
  grey.pixels = {0, 255};
  CHECK(measure(grey) == Normalization{{0.5F}, {0.5F}});
}

TEST_CASE("a normalization must match the number of channels") {
  CHECK(for_channels({}, 2) == Normalization{{0, 0}, {1, 1}});
  CHECK(for_channels(kCifarStats, 3) == kCifarStats);
  CHECK_THROWS_WITH_AS((void)for_channels(kCifarStats, 1),
                       "normalization: 3 means and 3 standard deviations for 1 channels",
                       UsageError);
  const auto refused = [](const Normalization& given) {
    CAPTURE(given.mean.size());
    CHECK_THROWS_WITH_AS(
        (void)for_channels(given, 2), doctest::Contains("normalization: "), UsageError);
  };
  refused({{0, 0, 0}, {1, 1}});
  refused({{0, 0}, {1, 1, 1}});
  refused({{}, {1, 1, 1}});
  refused({{0}, {}});
  for (const float bad : {NAN, INFINITY}) {
    refused({{0, bad}, {1, 1}});
    refused({{0, 0}, {1, bad}});
  }
  for (const float bad : {0.0F, -1.0F}) refused({{0, 0}, {bad, 1}});
}

TEST_CASE("measure: mean and deviation per channel, by hand") {
  Dataset set = test::small_set(2, 1, 1);
  set.pixels = {0, 51, 255, 255, 51, 255};
  const Normalization stats = measure(set);
  CHECK(stats.mean[0] == doctest::Approx(0.5));
  CHECK(stats.std[0] == doctest::Approx(0.5));
  CHECK(stats.mean[1] == doctest::Approx(0.2));
  CHECK(stats.std[1] == 1.0F);  // a channel without variation
  CHECK(stats.mean[2] == doctest::Approx(1.0));
}

TEST_CASE("denormalize: a batch as it was, within the rounding of its type") {
  for (const Normalization& normalization : {kCifarStats, Normalization{}}) {
    CHECK(worst_step(DType::f32, normalization) < 255e-6);
    CHECK(worst_step(DType::f16, normalization) < 0.25);
    CHECK(worst_step(DType::bf16, normalization) < 1);
  }
  // It is x that is rounded: a mistake in a mean or a deviation would be more than that.
  CHECK(worst_step(DType::f16, kCifarStats) > 1e-3);
}

TEST_CASE("denormalize: each colour has its own mean and deviation, and padding is left out") {
  Context ctx({.threads = 1});
  const Normalization normalization{{0.5F, 0.25F, 0}, {1, 2, 4}};
  const Tensor pixels = denormalize(ctx, batch_of({1, 1, 2, 8}, DType::f16, 5), normalization);
  REQUIRE(pixels.shape() == Shape{1, 1, 2, 3});
  for (const std::int64_t pixel : {0, 1}) {
    CHECK(get(pixels, 3 * pixel) == 0.5);
    CHECK(get(pixels, 3 * pixel + 1) == 2.25);
    CHECK(get(pixels, 3 * pixel + 2) == 8);
  }
}

TEST_CASE("denormalize: a tensor that is not a batch of images is refused") {
  Context ctx({.threads = 1});
  const auto denormalized = [&](const Batch& batch) {
    static_cast<void>(denormalize(ctx, batch, kCifarStats));
  };
  CHECK_THROWS_WITH_AS(denormalized(batch_of({1, 2, 2, 8}, DType::f16)),
                       doctest::Contains("3 means and 3 standard deviations for 8 channels"),
                       UsageError);
  CHECK_THROWS_AS(denormalized(batch_of({4, 3}, DType::f32)), ShapeError);
  CHECK_THROWS_AS(denormalized({}), ShapeError);
  CHECK_THROWS_WITH_AS(
      denormalized(batch_of({1, 2, 2, 3}, DType::i64)), doctest::Contains("not i64"), DTypeError);
}
