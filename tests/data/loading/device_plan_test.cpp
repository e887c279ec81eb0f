#include "data/loading/device_plan.h"

#include "data/loading/augmentation.h"
#include "data/loading/pipeline.h"
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/kernels/augment/augment.h"
#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

using namespace learn;
using namespace learn::data;

namespace {

constexpr std::int64_t kSamples = 5;
constexpr std::int64_t kHeight = 10;
constexpr std::int64_t kWidth = 12;
constexpr std::uint64_t kSeed = 42;
constexpr std::uint64_t kEpoch = 3;

struct Images {
  std::int64_t channels;
  Arena host{"images", cpu_pages()};
  Tensor images{host, {kSamples, kHeight, kWidth, channels}, DType::u8};
  Tensor labels{host, {kSamples}, DType::i64};

  explicit Images(std::int64_t of_channels = 3) : channels(of_channels) {
    for (std::int64_t i = 0; i < images.elements(); ++i)
      images.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(
          random4(1, RandomPurpose::test, 0, static_cast<std::uint64_t>(i)).v[0]);
    for (std::int64_t i = 0; i < kSamples; ++i) labels.data<std::int64_t>()[i] = 100 + i;
  }
  [[nodiscard]] std::span<const std::uint8_t> image(std::int64_t i) const {
    const std::int64_t bytes = kHeight * kWidth * channels;
    return {images.data<std::uint8_t>() + i * bytes, static_cast<std::size_t>(bytes)};
  }
};

const std::vector<double> kIndex{4, 0, 0, 2};

/// The batch from the host's pipeline, with zeros in further channels.
template <class T>
Tensor expected(Images& p,
                const std::vector<Transform>& list,
                const Normalization& stats,
                std::int64_t channels) {
  const Pipeline pipeline(list, stats, {kHeight, kWidth, p.channels});
  const std::int64_t pixels = pipeline.out_height() * pipeline.out_width();
  Tensor out(p.host,
             {static_cast<std::int64_t>(kIndex.size()),
              pipeline.out_height(),
              pipeline.out_width(),
              channels},
             kDType<T>);
  Pipeline::Scratch scratch;
  std::vector<T> image(static_cast<std::size_t>(pixels * p.channels));
  T* to = out.data<T>();
  for (const double sample : kIndex) {
    const auto i = static_cast<std::int64_t>(sample);
    pipeline.run(p.image(i), kSeed, kEpoch, static_cast<std::uint64_t>(i), image.data(), scratch);
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (std::int64_t c = 0; c < channels; ++c)
        *to++ = c < p.channels ? image[static_cast<std::size_t>(pixel * p.channels + c)] : T{};
  }
  return out;
}

template <class T>
void check_list(const std::vector<Transform>& list, std::int64_t channels) {
  Images p;
  const std::optional<AugmentPlan> plan = device_plan(list, kCifarStats, {kHeight, kWidth});
  REQUIRE(plan.has_value());
  const Tensor wanted = expected<T>(p, list, kCifarStats, channels);
  Context ctx(test::fast_context(1));
  Tensor x = ctx.empty(wanted.shape(), kDType<T>);
  Tensor y = ctx.empty({4}, DType::i64);
  kernels::augment(ctx,
                   *plan,
                   {test::put(ctx, p.images), test::put(ctx, p.labels)},
                   test::put_values(ctx, {4}, kIndex, DType::i64),
                   kSeed,
                   kEpoch,
                   x,
                   y);
  const Comparison same = same_bits(to_host(ctx, x), wanted);
  CHECK_MESSAGE(same.equal, same.text);
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(test::fetch(ctx, y, i) == 100 + kIndex[static_cast<std::size_t>(i)]);
}

}  // namespace

TEST_CASE("augmentation of a batch has the bits of the image pipeline") {
  const std::vector<std::vector<Transform>> lists{
      {},
      augmentation("basic", kHeight, kWidth),
      augmentation("full", kHeight, kWidth),
      {FlipLr{1}, Pad{3, PadMode::zero}, RandomCrop{9}, Cutout{3, 2}, FlipLr{0.5F}, CenterCrop{7}},
      {Pad{2, PadMode::zero}, Pad{5}, CenterCrop{11}, Pad{1}, RandomCrop{}, Cutout{40}},
      {FlipLr{.alternate = true}, Erase{.p = 1}, Erase{.p = 1, .noise = true}, Cutout{2}},
      {FlipLr{}, ResizedCrop{}, Pad{1}, RandomCrop{}},
      {Affine{.degrees = 30, .translate = 0.2F, .scale = {0.8F, 1.2F}, .shear = 10},
       Affine{.degrees = 90, .interpolation = Interpolation::bilinear}},
      {Jitter{0.4F, 0.4F, 0.4F, 0.1F}, Gray{0.5F}, Invert{}, FlipLr{}, Posterize{}, Solarize{}},
      {Equalize{}, Pad{3, PadMode::zero}, Autocontrast{}, RandomCrop{}, Sharpness{{0, 3}}, Blur{}},
      {RandAugment{}, FlipLr{}, TrivialAugment{}},
      {AugMix{}, CenterCrop{9}, AugMix{.chains = 4, .all = true}, ResizedCrop{{0.2F, 0.4F}}},
  };
  for (std::size_t i = 0; i < lists.size(); ++i) {
    CAPTURE(i);
    for (const std::int64_t channels : {3, 4, 8}) {
      CAPTURE(channels);
      check_list<float>(lists[i], channels);
      check_list<Half>(lists[i], channels);
      check_list<BFloat16>(lists[i], channels);
    }
  }
}

TEST_CASE("images of any few channels, with targets of floats, some drawn twice") {
  const std::vector<Transform> list{Pad{2, PadMode::zero}, RandomCrop{}, FlipLr{}, Cutout{3}};
  for (const std::int64_t channels : {1, 5, 16}) {
    CAPTURE(channels);
    Images p(channels);
    Normalization stats;
    for (std::int64_t c = 0; c < channels; ++c) {
      stats.mean.push_back(0.1F * static_cast<float>(c));
      stats.std.push_back(0.5F + static_cast<float>(c));
    }
    const auto plan = device_plan(list, stats, {kHeight, kWidth, channels});
    REQUIRE(plan.has_value());
    Tensor targets(p.host, {kSamples, 3}, DType::f32);
    for (std::int64_t i = 0; i < 15; ++i) targets.data<float>()[i] = static_cast<float>(i);
    // Sample 3 as it comes for the first, the second and the third time.
    const std::vector<double> draws{3, 3 + kSamples, 1, 3 + 2 * kSamples};
    Context ctx(test::fast_context(1));
    Tensor x = ctx.empty({4, kHeight, kWidth, channels + 3}, DType::f32);
    Tensor y = ctx.empty({4, 3}, DType::f32);
    kernels::augment(ctx,
                     *plan,
                     {test::put(ctx, p.images), test::put(ctx, targets), 3},
                     test::put_values(ctx, {4}, draws, DType::i64),
                     kSeed,
                     kEpoch,
                     x,
                     y);
    const Pipeline pipeline(list, stats, {kHeight, kWidth, channels});
    Pipeline::Scratch scratch;
    const Tensor got = to_host(ctx, x);
    std::vector<float> image(static_cast<std::size_t>(kHeight * kWidth * channels));
    int wrong = 0;
    for (std::int64_t n = 0; n < 4; ++n) {
      const auto draw = static_cast<std::int64_t>(draws[static_cast<std::size_t>(n)]);
      pipeline.run(p.image(draw % kSamples),
                   kSeed,
                   kEpoch,
                   static_cast<std::uint64_t>(draw),
                   image.data(),
                   scratch);
      for (std::int64_t pixel = 0; pixel < kHeight * kWidth; ++pixel)
        for (std::int64_t c = 0; c < channels + 3; ++c) {
          const float wanted =
              c < channels ? image[static_cast<std::size_t>(pixel * channels + c)] : 0;
          const auto at = (n * kHeight * kWidth + pixel) * (channels + 3) + c;
          wrong += got.span<float>()[static_cast<std::size_t>(at)] == wanted ? 0 : 1;
        }
      for (std::int64_t k = 0; k < 3; ++k)
        CHECK(test::fetch(ctx, y, 3 * n + k) == static_cast<double>(draw % kSamples * 3 + k));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("plans that a device does not support are refused") {
  const auto possible = [](const std::vector<Transform>& list) {
    return device_plan(list, kCifarStats, {kHeight, kWidth}).has_value();
  };
  CHECK(possible(std::vector<Transform>(16, FlipLr{})));
  CHECK(!possible(std::vector<Transform>(17, FlipLr{})));
  CHECK(possible({Cutout{2, 32}}));
  CHECK(!possible({Cutout{2, 33}}));
  CHECK(!possible({PixelTransform{[](std::span<std::uint8_t>, RandomWords) {}}}));
  CHECK(!possible({ImageTransform{[](Image&, RandomWords) {}}}));
  CHECK(!possible({ValueTransform{[](std::span<float>, RandomWords) {}}}));
  CHECK(device_plan({}, {}, {kHeight, kWidth, 16}).has_value());
  CHECK(!device_plan({}, {}, {kHeight, kWidth, 17}).has_value());
  CHECK(!device_plan({}, {}, {kHeight, kWidth, 3, true}).has_value());
  CHECK(!device_plan({}, {}, {0, 0, 3, true}).has_value());
}

TEST_CASE("an image that the data set does not have is named") {
  Images p;
  Context ctx(test::fast_context(1));
  const AugmentPlan plan = *device_plan({}, kCifarStats, {kHeight, kWidth});
  Tensor x = ctx.empty({2, kHeight, kWidth, 3}, DType::f32);
  Tensor y = ctx.empty({2}, DType::i64);
  const auto run = [&](double second) {
    kernels::augment(ctx,
                     plan,
                     {test::put(ctx, p.images), test::put(ctx, p.labels)},
                     test::put_values(ctx, {2}, {0, second}, DType::i64),
                     kSeed,
                     kEpoch,
                     x,
                     y);
    return test::fetch(ctx, y, 1);
  };
  CHECK_THROWS_WITH_AS(
      (void)run(5), doctest::Contains("place 1 of the batch asks for image 5"), DataError);
  CHECK_THROWS_WITH_AS((void)run(-1), doctest::Contains("image -1"), DataError);
  CHECK(run(3) == 103);
}
