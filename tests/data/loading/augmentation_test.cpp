#include "data/loading/augmentation.h"

#include "data/loading/pipeline.h"
#include "framework/core/error.h"
#include "framework/core/random.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace learn;
using namespace learn::data;

namespace {

constexpr std::int64_t kHeight = 12;
constexpr std::int64_t kWidth = 16;
const Normalization kBytes{{0, 0, 0}, {1.0F / 255, 1.0F / 255, 1.0F / 255}};

std::vector<std::uint8_t> noise(std::int64_t channels = 3) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kHeight * kWidth * channels));
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(random4(5, RandomPurpose::test, 0, i).v[0]);
  return pixels;
}

/// Runs a list on the image, as a loader does.
std::vector<float> run(const std::vector<Transform>& list,
                       std::uint64_t epoch,
                       std::uint64_t sample,
                       std::int64_t channels = 3) {
  const Pipeline pipeline(
      list, channels == 3 ? kBytes : Normalization{{0}, {1.0F / 255}}, {kHeight, kWidth, channels});
  Pipeline::Scratch scratch;
  std::vector<float> out(static_cast<std::size_t>(pipeline.out_shape().elements()));
  Image image{kHeight, kWidth, noise(channels), channels};
  if (pipeline.takes_whole_images()) pipeline.transform_whole(image, 42, epoch, sample);
  pipeline.run(std::span<const std::uint8_t>(image.pixels), 42, epoch, sample, out.data(), scratch);
  return out;
}

std::string text_of(const std::vector<Transform>& list) {
  std::string text;
  for (const Transform& step : list) text += (text.empty() ? "" : "|") + spec_of(step)->text();
  return text;
}

std::vector<Transform> parsed(const std::string& chain) {
  return augmentation(chain, kHeight, kWidth);
}

}  // namespace

TEST_CASE("augmentation: a chain is steps and lists in this order") {
  const std::vector<Transform> list =
      parsed("resized_crop:scale=0.3:1|trivial|none|basic|erase:p=0.25,noise=true");
  REQUIRE(list.size() == 6);
  CHECK(std::get<ResizedCrop>(list[0]).scale == Interval(0.3F, 1));
  CHECK(std::get<ResizedCrop>(list[0]).ratio == ResizedCrop{}.ratio);
  CHECK(std::holds_alternative<TrivialAugment>(list[1]));
  CHECK(std::get<Pad>(list[2]).pixels == 1);
  CHECK(std::get<Erase>(list[5]).p == 0.25F);
  CHECK(std::get<Erase>(list[5]).noise);
  CHECK(parsed("none").empty());
}

TEST_CASE("augmentation: the text of a step makes the step") {
  const std::vector<std::string> chains{
      "flip:p=0.25,alternate=true|pad:pixels=3,mode=zero|crop:size=8|center_crop:size=4",
      "resized_crop:scale=0.1:0.5,ratio=1|affine:degrees=15,translate=0.1,scale=0.9:1.1,shear=5,"
      "interpolation=bilinear,p=0.5",
      "jitter:brightness=0.4,contrast=0.3,saturation=0.2,hue=0.1,p=0.8|gray:p=0.2|invert:p=0.1",
      "posterize:bits=3,p=1|solarize:threshold=100,p=0.25|equalize:p=0.25|autocontrast:p=0.25",
      "sharpness:factor=0.5:2,p=0.75|blur:size=3,sigma=0.5,p=0.25",
      "randaugment:ops=3,magnitude=12|trivial|augmix:severity=5,chains=2,all=true",
      "cutout:length=4,holes=2|erase:area=0.1,ratio=0.5:2,noise=true,p=0.25",
      "flip|pad|crop|center_crop|resized_crop|affine|jitter|gray|invert|posterize|solarize|"
      "equalize|"
      "autocontrast|sharpness|blur|randaugment|trivial|augmix|cutout|erase"};
  for (const std::string& chain : chains) CHECK(text_of(parsed(chain)) == chain);
  CHECK(!spec_of(PixelTransform{}).has_value());
}

TEST_CASE("augmentation: wrong texts are refused with the rule") {
  const auto refused = [](const std::string& chain, const char* text) {
    CAPTURE(chain);
    CHECK_THROWS_WITH_AS((void)parsed(chain), doctest::Contains(text), UsageError);
  };
  refused("", "an augmentation is empty; use 'none' for no augmentation");
  refused("flip|", "an augmentation is empty");
  refused("flipp", "did you mean 'flip'");
  refused("flip:q=1", "flip has no option 'q'");
  refused("flip:p=2", "flip: p=2: ");
  refused("affine:scale=2:1", "the second number must not be smaller than the first");
  refused("affine:scale=0:1", "affine: scale=0:1: ");
  refused("erase:area=0.1:1.5", "erase: area=0.1:1.5: ");
  refused("resized_crop:ratio=0", "resized_crop: ratio=0: ");
  refused("resized_crop:scale=a:b", "resized_crop: scale=a:b: ");
  refused("augmix:chains=5", "augmix: chains=5: ");
  refused("pad:mode=grey", "pad: mode=grey: ");
}

TEST_CASE("augmentation: numbers and samples that a step cannot have are refused") {
  const auto refused = [](std::vector<Transform> list, SampleForm form, const char* text) {
    CHECK_THROWS_WITH_AS(Pipeline(std::move(list), {}, form), doctest::Contains(text), UsageError);
  };
  refused({Jitter{.hue = 0.7F}}, {8, 8}, "jitter: hue=0.7: ");
  refused({Affine{.scale = {2, 1}}}, {8, 8}, "affine: scale=2:1: ");
  refused(
      {Blur{.size = 4}}, {8, 8}, "blur: a window of 4 pixels for an image of 8x8; it must be odd");
  refused({Blur{.size = 17}}, {8, 9}, "blur: a window of 17 pixels for an image of 9x8");
  CHECK_NOTHROW(Pipeline({Blur{.size = 15}}, {}, {8, 9}));
  for (const Transform& colours :
       std::vector<Transform>{Jitter{}, Gray{}, RandAugment{}, TrivialAugment{}, AugMix{}})
    refused(
        {colours}, {8, 8, 4}, "transform 0 of the list is for images of 1 or 3 channels, not 4");
  CHECK_NOTHROW(Pipeline({Equalize{}, Affine{}, Blur{}, Erase{}}, {}, {8, 8, 4}));
  refused({Invert{}}, {4, 4, 3, true}, "transform 0 of the list is for bytes");
  CHECK_NOTHROW(Pipeline({Erase{}}, {}, {4, 4, 3, true}));
  refused({ValueTransform{[](std::span<float>, RandomWords) {}}, Invert{}},
          {4, 4},
          "transform 1 of the list changes pixels: it must come before transforms of values");
}

TEST_CASE("augmentation: what changes nothing gives the same bytes") {
  const std::vector<float> plain = run({}, 0, 0);
  const std::vector<std::string> chains{
      "affine",
      "affine:interpolation=bilinear",
      "jitter",
      "posterize:bits=8,p=1",
      "solarize:threshold=256,p=1",
      "sharpness:factor=1,p=1",
      "resized_crop:scale=1,ratio=1.3333334",
      "randaugment:ops=0",
      "flip:p=0|invert:p=0|equalize:p=0|autocontrast:p=0|gray:p=0|erase:p=0|blur:p=0|posterize:p=0",
      "invert:p=1|invert:p=1",
      "blur:size=1,p=1"};
  for (const std::string& chain : chains) {
    CAPTURE(chain);
    for (std::uint64_t sample = 0; sample < 5; ++sample)
      CHECK(run(parsed(chain), 0, sample) == plain);
  }
}

TEST_CASE(
    "augmentation: every step changes images of one and three channels and keeps their size") {
  const std::vector<std::string> chains{"resized_crop",
                                        "affine:degrees=30",
                                        "jitter:brightness=0.9",
                                        "invert",
                                        "posterize",
                                        "solarize",
                                        "equalize",
                                        "autocontrast",
                                        "sharpness",
                                        "blur:sigma=1",
                                        "randaugment",
                                        "trivial",
                                        "augmix",
                                        "erase",
                                        "gray",
                                        "jitter:hue=0.5"};
  for (const std::string& chain : chains) {
    CAPTURE(chain);
    for (const std::int64_t channels : {1, 3}) {
      CAPTURE(channels);
      const std::vector<float> plain = run({}, 0, 0, channels);
      int changed = 0;
      for (std::uint64_t sample = 0; sample < 60; ++sample) {
        const std::vector<float> got = run(parsed(chain), 1, sample, channels);
        CHECK(got.size() == plain.size());
        CHECK(got == run(parsed(chain), 1, sample, channels));
        changed += got == plain ? 0 : 1;
      }
      const bool colours_only = chain == "gray" || chain == "jitter:hue=0.5";
      if (colours_only && channels == 1) {
        CHECK(changed == 0);
      } else if (chain != "autocontrast" && chain != "equalize") {
        // The noise has all values already, and fewer pixels than equalize needs.
        CHECK(changed > 2);
      }
    }
  }
}

TEST_CASE("augmentation: a whole image and one in memory have the same resized crop") {
  const Pipeline whole({ResizedCrop{}}, kBytes, {kHeight, kWidth});
  const Pipeline inside({FlipLr{0}, ResizedCrop{}}, kBytes, {kHeight, kWidth});
  CHECK(whole.takes_whole_images());
  CHECK(!inside.takes_whole_images());
  // Its resized crop has the same place in the list as the other one, and so the same draws.
  const Pipeline later(
      {ImageTransform{[](Image&, RandomWords) {}}, ResizedCrop{}}, kBytes, {kHeight, kWidth});
  Pipeline::Scratch scratch;
  std::vector<float> a(static_cast<std::size_t>(kHeight * kWidth * 3));
  std::vector<float> b = a;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    Image image{kHeight, kWidth, noise(), 3};
    later.transform_whole(image, 42, 0, sample);
    later.run(std::span<const std::uint8_t>(image.pixels), 42, 0, sample, a.data(), scratch);
    const std::vector<std::uint8_t> pixels = noise();
    inside.run(std::span<const std::uint8_t>(pixels), 42, 0, sample, b.data(), scratch);
    CHECK(a == b);
  }
}

TEST_CASE("augmentation: the lists by name keep the size") {
  for (const char* name : {"none", "basic", "full", "airbench", "imagenet", "torchvision"}) {
    CAPTURE(name);
    const Pipeline pipeline(augmentation(name, 32, 48), {}, {32, 48});
    CHECK(pipeline.out_height() == 32);
    CHECK(pipeline.out_width() == 48);
  }
  CHECK(text_of(augmentation("airbench", 32, 32)) == "pad:pixels=2|crop|flip:alternate=true");
  CHECK(text_of(augmentation("torchvision", 32, 32)) == "resized_crop|flip|trivial|erase:p=0.1");
}
