#include "data/loading/augmentation.h"
#include "data/loading/pipeline.h"
#include "framework/core/error.h"
#include "framework/tensor/convert.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace learn;
using namespace learn::data;

namespace {

/// A grey image, value = 16 * row + column, so that a result tells where each pixel came from.
std::vector<std::uint8_t> numbered(std::int64_t height, std::int64_t width) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      pixels.insert(pixels.end(), 3, static_cast<std::uint8_t>(16 * y + x));
  return pixels;
}

const Normalization kBytes{{0, 0, 0}, {1.0F / 255, 1.0F / 255, 1.0F / 255}};

/// Runs a list on the numbered image and returns the values of the first channel, as bytes.
std::vector<int> run(const std::vector<Transform>& list,
                     std::int64_t height,
                     std::int64_t width,
                     std::uint64_t epoch = 0,
                     std::uint64_t sample = 0) {
  const Pipeline pipeline(list, kBytes, {height, width});
  Pipeline::Scratch scratch;
  std::vector<float> out(
      static_cast<std::size_t>(pipeline.out_height() * pipeline.out_width() * 3));
  pipeline.run(numbered(height, width), 42, epoch, sample, out.data(), scratch);
  std::vector<int> values;
  for (std::size_t i = 0; i < out.size(); i += 3) {
    CHECK(out[i] == out[i + 1]);
    CHECK(out[i] == out[i + 2]);
    values.push_back(static_cast<int>(std::lround(out[i])));
  }
  return values;
}

using Values = std::vector<int>;

}  // namespace

TEST_CASE("transforms: an empty list returns the image") {
  CHECK(run({}, 2, 3) == Values{0, 1, 2, 16, 17, 18});
}

TEST_CASE("transforms: flip with p 1 mirrors rows, with p 0 never") {
  CHECK(run({FlipLr{1}}, 2, 3) == Values{2, 1, 0, 18, 17, 16});
  for (std::uint64_t sample = 0; sample < 50; ++sample)
    CHECK(run({FlipLr{0}}, 1, 2, 0, sample) == Values{0, 1});
}

TEST_CASE("transforms: padding by hand") {
  CHECK(run({Pad{1, PadMode::reflect}}, 2, 3) ==  // rows 1 0 1 0, columns 1 0 1 2 1
        Values{17, 16, 17, 18, 17, 1, 0, 1, 2, 1, 17, 16, 17, 18, 17, 1, 0, 1, 2, 1});
  CHECK(run({Pad{1, PadMode::zero}}, 2, 2) ==
        Values{0, 0, 0, 0, 0, 0, 1, 0, 0, 16, 17, 0, 0, 0, 0, 0});
  CHECK(run({Pad{2, PadMode::reflect}}, 3, 3)[0] == 34);  // the corner comes from (2,2)
}

TEST_CASE("transforms: center crop, and steps run in the order of the list") {
  CHECK(run({CenterCrop{2}}, 4, 4) == Values{17, 18, 33, 34});
  CHECK(run({CenterCrop{2}}, 3, 3) == Values{0, 1, 16, 17});  // an odd rest goes to the far side
  CHECK(run({Pad{2}, CenterCrop{}}, 3, 4) == run({}, 3, 4));
  CHECK(run({CenterCrop{2}, FlipLr{1}}, 4, 4) == Values{18, 17, 34, 33});
  CHECK(run({FlipLr{1}, Pad{1, PadMode::zero}}, 1, 2) ==
        Values{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("transforms: random crops reach every place about equally often") {
  std::map<int, int> corners;  // top left pixel of the crop: one of 3 x 3
  constexpr int kDraws = 9000;
  for (int i = 0; i < kDraws; ++i) {
    const Values crop = run({RandomCrop{2}}, 4, 4, 0, static_cast<std::uint64_t>(i));
    CHECK(crop == Values{crop[0], crop[0] + 1, crop[0] + 16, crop[0] + 17});
    ++corners[crop[0]];
  }
  CHECK(corners.size() == 9);
  // Binomial(9000, 1/9) has mean 1000 and deviation 30; 5 deviations never happen by chance.
  for (const auto& one : corners) {
    CAPTURE(one.first);
    CHECK(std::abs(one.second - 1000) < 150);
  }
}

TEST_CASE("transforms: flips happen with their probability") {
  int flipped = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) flipped += run({FlipLr{0.25F}}, 1, 2, 3, i)[0];
  CHECK(std::abs(flipped - 2500) < 5 * 44);  // binomial deviation 43.3
}

TEST_CASE("transforms: draws depend on epoch, sample and position, and on nothing else") {
  const std::vector<Transform> list{Pad{4}, RandomCrop{8}, FlipLr{}};
  CHECK(run(list, 8, 8, 1, 2) == run(list, 8, 8, 1, 2));
  int same = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    same += run(list, 8, 8, 0, i) == run(list, 8, 8, 1, i) ? 1 : 0;
    same += run(list, 8, 8, 0, i) == run(list, 8, 8, 0, i + 1) ? 1 : 0;
  }
  CHECK(same <= 4);  // 1 of 162 by chance
  int together = 0;  // two flips of one list are independent
  for (std::uint64_t i = 0; i < 4000; ++i) together += run({FlipLr{}, FlipLr{}}, 1, 2, 0, i)[0];
  CHECK(std::abs(together - 2000) < 5 * 32);
}

TEST_CASE("transforms: two random steps of a list draw independently") {
  int together = 0;  // samples whose two crops start in the same row of their image
  constexpr int kSamples = 200;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample)
    together += run({RandomCrop{3}, RandomCrop{2}}, 4, 4, 0, sample)[0] / 16 != 1 ? 1 : 0;
  // Half of them, with a standard deviation of 7; shared words would make it all.
  CHECK(together > 60);
  CHECK(together < 140);
}

TEST_CASE("transforms: normalization, and zero padding is black before it") {
  const Normalization stats{{0.5F, 0.25F, 0}, {0.25F, 0.5F, 2}};
  const Pipeline pipeline({Pad{1, PadMode::zero}}, stats, {1, 1});
  Pipeline::Scratch scratch;
  std::vector<float> out(27);
  pipeline.run(std::vector<std::uint8_t>{255, 0, 51}, 0, 0, 0, out.data(), scratch);
  CHECK(out[12] == 2.0F);
  CHECK(out[13] == -0.5F);
  CHECK(out[14] == doctest::Approx(0.1));
  CHECK(out[0] == -2.0F);
  CHECK(out[1] == -0.5F);
  CHECK(out[2] == 0.0F);
}

TEST_CASE("transforms: halves are the f32 values rounded") {
  const Pipeline pipeline({Pad{2}, RandomCrop{6}, FlipLr{}}, kCifarStats, {6, 6});
  Pipeline::Scratch scratch;
  const std::vector<std::uint8_t> image = numbered(6, 6);
  std::vector<float> f32(108);
  std::vector<Half> f16(108);
  std::vector<BFloat16> bf16(108);
  pipeline.run(image, 1, 2, 3, f32.data(), scratch);
  pipeline.run(image, 1, 2, 3, f16.data(), scratch);
  pipeline.run(image, 1, 2, 3, bf16.data(), scratch);
  for (std::size_t i = 0; i < 108; ++i) {
    CHECK(f16[i].bits == to_half(f32[i]).bits);
    CHECK(bf16[i].bits == to_bfloat16(f32[i]).bits);
  }
}

TEST_CASE("transforms: cutout zeroes clipped squares after normalization") {
  const Normalization stats{{2, 2, 2}, {1, 1, 1}};  // no pixel becomes 0 by itself
  const Pipeline pipeline({Cutout{.length = 4}}, stats, {8, 8});
  Pipeline::Scratch scratch;
  std::vector<float> out(192);
  bool clipped = false;
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    pipeline.run(numbered(8, 8), 42, 0, sample, out.data(), scratch);
    std::int64_t top = 8, left = 8, bottom = -1, right = -1, zeros = 0;
    for (std::int64_t y = 0; y < 8; ++y)
      for (std::int64_t x = 0; x < 8; ++x) {
        const float v = out[static_cast<std::size_t>((y * 8 + x) * 3)];
        if (v != 0) continue;
        ++zeros;
        top = std::min(top, y);
        left = std::min(left, x);
        bottom = std::max(bottom, y);
        right = std::max(right, x);
      }
    CHECK(zeros == (bottom - top + 1) * (right - left + 1));
    CHECK(bottom - top < 4);
    CHECK(right - left < 4);
    CHECK(zeros >= 4);  // a centre in the corner leaves 2 x 2
    clipped = clipped || zeros < 16;
  }
  CHECK(clipped);
}

TEST_CASE("transforms: a pixel transform changes a copy and gets its own random words") {
  std::vector<std::uint32_t> words;
  const PixelTransform invert{[&](std::span<std::uint8_t> pixels, std::array<std::uint32_t, 4> r) {
    words.push_back(r[0]);
    for (std::uint8_t& p : pixels) p = static_cast<std::uint8_t>(255 - p);
  }};
  CHECK(run({FlipLr{1}, invert}, 1, 3, 0, 5) == Values{253, 254, 255});
  CHECK(run({FlipLr{1}, invert}, 1, 3, 0, 5) == Values{253, 254, 255});
  CHECK(run({FlipLr{1}, invert}, 1, 3, 1, 5) == Values{253, 254, 255});
  REQUIRE(words.size() == 3);
  CHECK(words[0] == words[1]);
  CHECK(words[0] != words[2]);
}

TEST_CASE("transforms: custom steps run in their position, on the current image") {
  const auto add = [](int by) {
    return PixelTransform{[by](std::span<std::uint8_t> pixels, RandomWords) {
      pixels[0] = static_cast<std::uint8_t>(pixels[0] + by);
    }};
  };
  // The first pixel differs before and after the mirror.
  CHECK(run({FlipLr{1}, CenterCrop{1}, add(0)}, 2, 3).size() == 1);
  const Pipeline pipeline({add(10), FlipLr{1}, add(20), Pad{1, PadMode::zero}, add(30)},
                          {{0}, {1.0F / 255}},
                          {1, 3, 1});
  CHECK(pipeline.out_shape() == Shape{3, 5, 1});
  Pipeline::Scratch scratch;
  std::vector<float> out(15);
  pipeline.run(std::vector<std::uint8_t>{1, 2, 3}, 1, 0, 0, out.data(), scratch);
  Values bytes;
  for (const float v : out) bytes.push_back(static_cast<int>(std::lround(v)));
  CHECK(bytes == Values{30, 0, 0, 0, 0, 0, 23, 2, 11, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("transforms: a step on values gets normalized values, and is rounded after it") {
  const ValueTransform third{[](std::span<float> values, RandomWords) {
    for (float& v : values) v /= 3;
  }};
  const Pipeline pipeline({FlipLr{1}, third, Cutout{1, 0}, third}, {{0.5F, 0}, {1, 1}}, {1, 2, 2});
  Pipeline::Scratch scratch;
  std::vector<float> f32(4);
  std::vector<Half> f16(4);
  const std::vector<std::uint8_t> image{0, 51, 255, 102};
  pipeline.run(image, 1, 0, 0, f32.data(), scratch);
  pipeline.run(image, 1, 0, 0, f16.data(), scratch);
  CHECK(f32[0] == 0.5F / 3 / 3);
  CHECK(f32[1] == 102.0F / 255 / 3 / 3);
  CHECK(f32[2] == -0.5F / 3 / 3);
  for (std::size_t i = 0; i < 4; ++i) CHECK(f16[i].bits == to_half(f32[i]).bits);
  const Pipeline of_features({third}, {}, {0, 0, 2, true});
  of_features.run(std::vector<float>{3, 6}, 1, 0, 0, f32.data(), scratch);
  CHECK(of_features.out_shape() == Shape{2});
  CHECK(f32[1] == 2);
}

TEST_CASE("transforms: a step on whole images may change their size before they are scaled") {
  const ImageTransform left_half{[](Image& image, RandomWords) {
    std::vector<std::uint8_t> kept;
    for (std::int64_t y = 0; y < image.height; ++y)
      for (std::int64_t x = 0; x < image.width / 2; ++x)
        kept.push_back(image.pixels[static_cast<std::size_t>(y * image.width + x)]);
    image = {image.height, image.width / 2, kept, 1};
  }};
  const Pipeline pipeline({left_half, left_half, FlipLr{}}, {}, {2, 2, 1});
  CHECK(pipeline.takes_whole_images());
  Image image{4, 16, std::vector<std::uint8_t>(64, 200), 1};
  for (std::size_t i = 0; i < 64; i += 16)
    std::fill_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(i), 4, 7);
  pipeline.transform_whole(image, 1, 0, 0);
  CHECK(image.height == 2);
  CHECK(image.pixels == std::vector<std::uint8_t>(4, 7));
  const Pipeline broken(
      {ImageTransform{[](Image& changed, RandomWords) { changed.channels = 3; }}}, {}, {2, 2, 1});
  CHECK_THROWS_WITH_AS(broken.transform_whole(image, 1, 0, 0),
                       "transform 0 of the list returned an image of 2x2 with 3 channels and 4 "
                       "bytes; it must have 1 channels",
                       DataError);
}

TEST_CASE("transforms: steps in an impossible position are refused") {
  const ImageTransform on_image{[](Image&, RandomWords) {}};
  const PixelTransform on_pixels{[](std::span<std::uint8_t>, RandomWords) {}};
  const ValueTransform on_values{[](std::span<float>, RandomWords) {}};
  const auto refused = [](std::vector<Transform> list, SampleForm form, const char* text) {
    CHECK_THROWS_WITH_AS(Pipeline(std::move(list), {}, form), doctest::Contains(text), UsageError);
  };
  refused({FlipLr{}, on_image}, {4, 4}, "transform 1 of the list changes whole images");
  refused({on_values, FlipLr{}},
          {4, 4},
          "transform 1 of the list changes pixels: it must come before transforms of values");
  refused({on_pixels}, {4, 4, 3, true}, "transform 0 of the list is for bytes");
  refused({FlipLr{}}, {0, 0, 7, true}, "is for images, but the samples are 7 numbers");
  refused({ImageTransform{}}, {4, 4}, "an image transform needs a function");
  refused({ValueTransform{}}, {4, 4}, "a value transform needs a function");
}

TEST_CASE("transforms: the usual lists by name keep the size") {
  CHECK(augmentation("none", 32, 32).empty());
  for (const std::string_view name : {"basic", "full"}) {
    CAPTURE(name);
    const std::vector<Transform> list = augmentation(name, 32, 48);
    CHECK(std::get<Pad>(list[0]).pixels == 4);
    const Pipeline pipeline(list, {}, {32, 48});
    CHECK(pipeline.out_height() == 32);
    CHECK(pipeline.out_width() == 48);
  }
  CHECK(std::get<Cutout>(augmentation("full", 32, 32).back()).length == 8);
  CHECK_THROWS_AS(static_cast<void>(augmentation("most", 32, 32)), UsageError);
}

TEST_CASE("transforms: a composition runs its parts in order, whether they are steps or lists") {
  const std::vector<Transform> edge{Pad{1, PadMode::zero}, CenterCrop{2}};
  const PixelTransform brighter{[](std::span<std::uint8_t> pixels, auto) {
    for (std::uint8_t& p : pixels) p = static_cast<std::uint8_t>(p + 100);
  }};
  const std::vector<Transform> all = compose(FlipLr{1}, edge, brighter, std::vector<Transform>{});
  REQUIRE(all.size() == 4);
  CHECK(std::holds_alternative<FlipLr>(all[0]));
  CHECK(std::holds_alternative<Pad>(all[1]));
  CHECK(std::holds_alternative<CenterCrop>(all[2]));
  CHECK(std::holds_alternative<PixelTransform>(all[3]));
  CHECK(run(all, 2, 2) == run({FlipLr{1}, Pad{1, PadMode::zero}, CenterCrop{2}, brighter}, 2, 2));
  CHECK(run(compose(FlipLr{1}, edge), 2, 2) == Values{1, 0, 17, 16});
  // The order counts: what is padded first lies inside of what is cut.
  const std::vector<Transform> cut{CenterCrop{2}};
  const std::vector<Transform> pad{Pad{1, PadMode::zero}};
  CHECK(run(compose(cut, pad), 4, 4).size() == 16);
  CHECK(run(compose(pad, cut), 4, 4).size() == 4);
  CHECK(compose().empty());
}

TEST_CASE("transforms: impossible parameters are usage errors") {
  const auto make = [](std::vector<Transform> list) { Pipeline(std::move(list), {}, {4, 6}); };
  CHECK_THROWS_AS(make({RandomCrop{5}}), UsageError);
  CHECK_NOTHROW(make({Pad{1}, RandomCrop{6}}));
  CHECK_THROWS_AS(make({Pad{4}}), UsageError);
  CHECK_NOTHROW(make({Pad{4, PadMode::zero}}));
  CHECK_THROWS_AS(make({FlipLr{1.5F}}), UsageError);
  CHECK_THROWS_AS(make({FlipLr{NAN}}), UsageError);
  CHECK_THROWS_AS(make({FlipLr{-0.1F}}), UsageError);
  CHECK_NOTHROW(make({FlipLr{0}, FlipLr{1}}));
  CHECK_THROWS_AS(make({Pad{-1, PadMode::zero}}), UsageError);
  CHECK_THROWS_AS(make({CenterCrop{-1}}), UsageError);
  CHECK_THROWS_AS(make({CenterCrop{5}}), UsageError);  // more rows than there are
  CHECK_THROWS_AS((void)Pipeline({CenterCrop{5}}, {}, {6, 4}), UsageError);  // or columns
  CHECK_THROWS_AS(make({Cutout{.length = 0}}), UsageError);
  CHECK_THROWS_AS(make({Cutout{.length = 2, .holes = -1}}), UsageError);
  CHECK_THROWS_AS(make({Cutout{.length = 2, .holes = 4096}}), UsageError);
  CHECK_NOTHROW(make({Cutout{.length = 2, .holes = 4095}}));
  CHECK_THROWS_AS(make({PixelTransform{}}), UsageError);
  CHECK_THROWS_AS(Pipeline({}, {{0, 0, 0}, {1, 0, 1}}, {4, 4}), UsageError);
  CHECK_THROWS_WITH_AS(make(std::vector<Transform>(4097, FlipLr{})),
                       "4097 transforms, at most 4096 are possible",
                       UsageError);
}
