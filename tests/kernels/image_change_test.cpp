#include "framework/kernels/augment/change_image.h"
#include "framework/kernels/augment/lone_team.h"
#include "framework/kernels/augment/policies.h"
#include "framework/kernels/augment/work_memory.h"
#include "tests/golden/augment.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace learn;
using namespace learn::image;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Kind = Change::Kind;

Bytes decoded(const std::string& hex) {
  Bytes bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> all{{"brightness", Kind::brightness},
                                               {"contrast", Kind::contrast},
                                               {"saturation", Kind::saturation},
                                               {"hue", Kind::hue},
                                               {"gray", Kind::gray},
                                               {"invert", Kind::invert},
                                               {"posterize", Kind::posterize},
                                               {"solarize", Kind::solarize},
                                               {"equalize", Kind::equalize},
                                               {"autocontrast", Kind::autocontrast},
                                               {"sharpness", Kind::sharpness},
                                               {"blur", Kind::blur},
                                               {"nearest", Kind::affine},
                                               {"bilinear", Kind::affine},
                                               {"resize", Kind::resize}};
  return all;
}

/// The change of a case, and the size of its result.
struct Wanted {
  Change change;
  std::int32_t height, width;
};

Wanted wanted(const test::golden::AugmentCase& one, const test::golden::AugmentImage& image) {
  const auto number = [&](std::size_t i) { return static_cast<std::int32_t>(one.arguments[i]); };
  const auto real = [&](std::size_t i) { return static_cast<float>(one.arguments[i]); };
  if (one.op == "policy") {
    const std::array policies{rand_augment_policy(), trivial_augment_policy(), aug_mix_policy()};
    return {policy_change(policies.at(static_cast<std::size_t>(number(0))),
                          static_cast<PolicyOp>(number(1)),
                          number(2),
                          number(3) != 0,
                          image.height,
                          image.width),
            image.height,
            image.width};
  }
  Wanted w{{}, image.height, image.width};
  w.change.kind = kinds().at(one.op);
  switch (w.change.kind) {
    case Kind::posterize:
    case Kind::solarize:
      w.change.count = number(0);
      break;
    case Kind::blur:
      w.change.count = number(0);
      w.change.factor = real(1);
      break;
    case Kind::affine:
      w.change.smooth = one.op == "bilinear";
      w.change.map = to_pixels(
          affine_map(real(0), real(3), real(4), real(1), real(2)), image.height, image.width);
      break;
    case Kind::resize:
      w.change.window = {number(0), number(1), number(2), number(3)};
      w.height = number(4);
      w.width = number(5);
      break;
    default:
      if (!one.arguments.empty()) w.change.factor = real(0);
  }
  return w;
}

/// An image in memory for any change of it.
struct Worked {
  WorkMemory memory;
  std::vector<Block> blocks;
  WorkImage image{};

  Worked(const test::golden::AugmentImage& from, std::int32_t height, std::int32_t width) {
    AugmentPlan::Step step;
    step.kind = AugmentPlan::Step::Kind::resized_crop;
    step.height = from.height;
    step.width = from.width;
    step.out_height = height;
    step.out_width = width;
    memory.add(step, from.channels);
    step.kind = AugmentPlan::Step::Kind::single;
    step.change = Kind::blur;
    step.count = 255;
    memory.add(step, from.channels);
    blocks.resize(static_cast<std::size_t>(memory.blocks()));
    image = memory.divide(blocks.data(), from.height, from.width, from.channels);
    const Bytes pixels = decoded(from.pixels);
    std::ranges::copy(pixels, image.now);
  }
  [[nodiscard]] Bytes pixels() const {
    return {image.now, image.now + std::int64_t{image.height} * image.width * image.channels};
  }
};

Bytes changed(const Wanted& w, const test::golden::AugmentImage& from) {
  Worked work(from, w.height, w.width);
  TeamMemory shared;
  const LoneTeam team(shared);
  if (w.change.kind == Kind::resize)
    resize(team, work.image, w.change.window, w.height, w.width);
  else
    change_image(team, w.change, work.image);
  return work.pixels();
}

/// How far a result may be from torchvision's, which adds up in f32.
struct Tolerance {
  int difference = 0;  ///< of any value
  double share = 0;    ///< of values that differ
};
Tolerance tolerance(const Change& change) {
  switch (change.kind) {
    case Kind::saturation:
    case Kind::contrast:  // torchvision fuses the addition, and what is next to a whole is
                          // truncated
      return {1, 0.02};
    case Kind::blur:  // weights are multiples of 2^-16, and sums next to a half are rounded
      return {1, 0.02};
    case Kind::resize:  // with weights of 14ths and sixths some sums are halves
      return {1, 0.04};
    case Kind::affine:  // positions are multiples of 2^-8 of a pixel, and values differ by up to
                        // 255
      return change.smooth ? Tolerance{2, 0.25} : Tolerance{};
    default:
      return {};
  }
}

/// Results with the nearest pixel, moved by a 1024th of one to all sides: where positions are
/// halves, it is chance which of two pixels is the nearest.
std::vector<Bytes> next_to(Wanted w, const test::golden::AugmentImage& image) {
  std::vector<Bytes> all;
  const AffineMap map = w.change.map;
  for (const int x : {-64, 64})
    for (const int y : {-64, 64}) {
      w.change.map.x0 = map.x0 + x;
      w.change.map.y0 = map.y0 + y;
      all.push_back(changed(w, image));
    }
  return all;
}

}  // namespace

TEST_CASE("changes of images have torchvision's results") {
  int cases = 0;
  for (const test::golden::AugmentCase& one : test::golden::kAugmentCases) {
    const test::golden::AugmentImage& image =
        test::golden::kAugmentImages[static_cast<std::size_t>(one.image)];
    std::string text = one.op;
    for (const double argument : one.arguments) text += fmt::format(" {}", argument);
    CAPTURE(text);
    CAPTURE(one.image);
    const Wanted w = wanted(one, image);
    const Bytes got = changed(w, image);
    const Bytes golden = decoded(one.pixels);
    REQUIRE(got.size() == golden.size());
    const bool nearest = w.change.kind == Kind::affine && !w.change.smooth;
    const std::vector<Bytes> near = nearest ? next_to(w, image) : std::vector<Bytes>();
    int most = 0;
    int differing = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::ranges::any_of(near, [&](const Bytes& other) { return other[i] == golden[i]; }))
        continue;
      most = std::max(most, std::abs(int{got[i]} - int{golden[i]}));
      differing += got[i] == golden[i] ? 0 : 1;
    }
    const Tolerance allowed = tolerance(w.change);
    CHECK(most <= allowed.difference);
    CHECK(differing <= allowed.share * static_cast<double>(got.size()));
    ++cases;
  }
  CHECK(cases > 250);
}
