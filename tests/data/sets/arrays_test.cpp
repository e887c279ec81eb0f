#include "data/sets/arrays.h"

#include "data/images/resize.h"
#include "data/loading/loaders.h"
#include "framework/core/error.h"
#include "framework/tensor/factory.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>

using namespace learn;
using namespace learn::data;

namespace {

/// `count` samples of shape {2}: sample i is {i, -i}, of class i % 3.
Arrays numbered(int count) {
  Arrays out{.sample = {2}};
  for (int i = 0; i < count; ++i) {
    out.x.insert(out.x.end(), {static_cast<float>(i), -static_cast<float>(i)});
    out.classes.push_back(i % 3);
  }
  return out;
}

}  // namespace

TEST_CASE("arrays of features come in batches as they are, with their classes") {
  Context ctx({.threads = 1});
  const Dataset set = from_arrays(numbered(25));
  CHECK(set.sample_shape() == Shape{2});
  CHECK(set.classes == std::vector<std::string>{"0", "1", "2"});
  for (const DType dtype : {DType::f32, DType::f16}) {
    Loader loader(
        ctx, set, {.batch_size = 10, .shuffle = true, .workers = 2, .seed = 3, .dtype = dtype});
    CHECK(loader.sample_shape() == Shape{2});
    CHECK(loader.classes() == 3);
    std::vector<std::int64_t> seen;
    loader.begin(1);
    for (Batch batch; loader.next(batch);) {
      REQUIRE(batch.x.shape() == Shape{batch.size(), 2});
      REQUIRE(batch.x.dtype() == dtype);
      for (std::int64_t i = 0; i < batch.size(); ++i) {
        const std::int64_t sample = batch.index[static_cast<std::size_t>(i)];
        seen.push_back(sample);
        CHECK(get(batch.x, 2 * i) == static_cast<double>(sample));
        CHECK(get(batch.x, 2 * i + 1) == static_cast<double>(-sample));
        CHECK(batch.y.span<std::int64_t>()[static_cast<std::size_t>(i)] == sample % 3);
      }
    }
    CHECK_FALSE(std::ranges::is_sorted(seen));
    std::ranges::sort(seen);
    for (std::int64_t i = 0; i < 25; ++i) CHECK(seen.at(static_cast<std::size_t>(i)) == i);
  }
}

TEST_CASE(
    "arrays as two loaders: split, measured on the training part, never augmented as images") {
  Context ctx({.threads = 1});
  Arrays arrays = numbered(100);
  arrays.names = {"a", "b", "c", "none of them"};
  const Loaders data(ctx, split_off(from_arrays(std::move(arrays)), 0.2, 1), {.loader = {}});
  CHECK(data.set().valid.size() == 21);  // 7 of 34, 33 and 33
  CHECK(data.set().valid.classes.size() == 4);
  CHECK(data.train().options().transforms.empty());
  const Normalization& stats = data.normalization();
  REQUIRE(stats.mean.size() == 2);
  CHECK(stats.mean[0] == -stats.mean[1]);
  CHECK(stats.mean[0] == doctest::Approx(49.5).epsilon(0.05));
  CHECK(stats.std[0] == doctest::Approx(28.9).epsilon(0.05));
}

TEST_CASE("arrays may be images of floats or bytes, with labels or values") {
  Context ctx({.threads = 1});
  Arrays grey{.sample = {2, 3}, .targets = {0, 1, 1, 1}, .target_kind = TargetKind::labels};
  for (int i = 0; i < 12; ++i) grey.bytes.push_back(static_cast<std::uint8_t>(i));
  const Dataset bytes = from_arrays(grey);
  CHECK(bytes.sample_shape() == Shape{2, 3, 1});
  CHECK(bytes.classes == std::vector<std::string>{"0", "1"});
  Loader of_bytes(ctx, bytes, {.transforms = {FlipLr{1}}});
  Batch batch;
  of_bytes.begin(0);
  REQUIRE(of_bytes.next(batch));
  CHECK(batch.x.shape() == Shape{2, 2, 3, 1});
  CHECK(batch.x.span<float>()[0] == 2.0F / 255);
  CHECK(batch.y.shape() == Shape{2, 2});

  Arrays floats{.sample = {1, 2, 4}, .targets = {0.5F, 2}};
  for (int i = 0; i < 16; ++i) floats.x.push_back(static_cast<float>(i));
  floats.names = {"height"};
  const Dataset spectra = from_arrays(floats);
  const Normalization stats = measure(spectra);
  CHECK(stats.mean == std::vector<float>{6, 7, 8, 9});
  Loader of_floats(ctx,
                   spectra,
                   {.normalization = {{0, 0, 0, 1}, {1, 2, 1, 1}},
                    .transforms = {Pad{1, PadMode::zero}, CenterCrop{1}}});
  CHECK(of_floats.sample_shape() == Shape{1, 1, 4});
  of_floats.begin(0);
  REQUIRE(of_floats.next(batch));
  CHECK(batch.x.shape() == Shape{2, 1, 1, 4});
  // The middle of four columns, of which the outer two are 0.
  const auto x = batch.x.span<float>();
  CHECK(std::vector<float>(x.begin(), x.begin() + 4) == std::vector<float>{0, 0.5F, 2, 2});
  CHECK(batch.y.span<float>()[1] == 2);
}

TEST_CASE("a fingerprint covers floats, too") {
  const Dataset set = from_arrays(numbered(5));
  Dataset other = set;
  other.features[9] += 1;
  CHECK(other.fingerprint() != set.fingerprint());
  CHECK(from_arrays(numbered(5)).fingerprint() == set.fingerprint());
}

TEST_CASE("a set of floats is not scaled") {
  CHECK_THROWS_WITH_AS((void)resized(from_arrays(numbered(2)), {8, 8}),
                       "'arrays' contains floats, which cannot be scaled to 8x8",
                       UsageError);
}

TEST_CASE("arrays that do not fit together are refused with both numbers") {
  const auto refused = [&](Arrays arrays, const char* text) {
    CHECK_THROWS_WITH_AS((void)from_arrays(std::move(arrays)), doctest::Contains(text), DataError);
  };
  refused({.x = {1, 2, 3}, .sample = {2}, .classes = {0}},
          "3 numbers are not a multiple of the sample shape (2)");
  refused({.sample = {2}}, "either floats or bytes");
  refused({.x = {1}, .sample = {1}, .classes = {0}, .bytes = {1}}, "floats or bytes");
  refused({.sample = {1}, .classes = {0}, .bytes = {1}},
          "bytes must be images, not samples of shape (1)");
  refused({.x = {1}, .classes = {0}},
          "samples must be (F) for features, (H,W,C) or (H,W) for images, not ()");
  refused({.x = {1, 2}, .sample = {2}}, "classes or targets");
  refused({.x = {1, 2}, .sample = {2}, .classes = {0}, .targets = {1}},
          "either classes or targets");
  refused({.x = {1}, .sample = {1}, .targets = {1}, .target_kind = TargetKind::classes},
          "give classes as `classes`");
  refused({.x = {1, 2}, .sample = {1}, .classes = {0}}, "1 classes for 2 samples");
  refused({.x = {1, 2}, .sample = {1}, .targets = {1, 2, 3}}, "3 targets for 2 samples");
  refused({.x = {1, 2}, .sample = {1}, .classes = {0, -1}}, "class -1 of sample 1 is negative");
  refused({.x = {1, 2}, .sample = {1}, .classes = {0, 2}, .names = {"a", "b"}},
          "2 names for 3 classes");
  refused({.x = {1, NAN}, .sample = {2}, .classes = {0}},
          "value 1 of sample 0 is nan; it must be finite");
  Dataset both = from_arrays(numbered(2));
  both.pixels = {1};
  CHECK_THROWS_WITH_AS(both.validate(),
                       doctest::Contains("1 bytes of pixels, 4 numbers and no image sources"),
                       DataError);
}
