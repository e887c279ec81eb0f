#pragma once
#include "framework/kernels/augment/affine_map.h"
#include "framework/kernels/augment/image_change.h"

#include <cstdint>

namespace learn::image {

/// The operations that policies draw from, in the order of torchvision's lists.
enum class PolicyOp : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize,
};
inline constexpr std::uint32_t kPolicyOps = 14;

/// How strong the operations of a policy are at its highest bin. They grow in proportion to it, and
/// the bits of posterize fall from the highest to the lowest number.
struct Policy {
  std::int32_t bins;
  float shear;      ///< columns per row
  float translate;  ///< share of the side; 0: `translate_pixels`
  float translate_pixels;
  float degrees;
  float factor;  ///< the factor of a colour or of sharpness differs from 1 by it
  std::int32_t highest_bits, lowest_bits;  ///< posterize
  bool smooth;
};
/// Cubuk et al. 2020, "RandAugment: Practical automated data augmentation with a reduced search
/// space", with the numbers of torchvision 0.29.
[[nodiscard]] LEARN_HD constexpr Policy rand_augment_policy() {
  return {31, 0.3F, 150.0F / 331.0F, 0, 30, 0.9F, 8, 4, false};
}
/// Mueller and Hutter 2021, "TrivialAugment: Tuning-free yet state-of-the-art data augmentation",
/// the wide space.
[[nodiscard]] LEARN_HD constexpr Policy trivial_augment_policy() {
  return {31, 0.99F, 0, 32, 135, 0.99F, 8, 2, false};
}
/// Hendrycks et al. 2020, "AugMix: A simple data processing method to improve robustness and
/// uncertainty", with the numbers of torchvision 0.29.
[[nodiscard]] LEARN_HD constexpr Policy aug_mix_policy() {
  return {10, 0.3F, 1.0F / 3.0F, 0, 30, 0.9F, 4, 0, true};
}

/// Returns an operation with the strength of bin `bin`. `negative` chooses the sign, if it has one.
[[nodiscard]] LEARN_HD constexpr Change policy_change(const Policy& policy,
                                                      PolicyOp op,
                                                      std::int32_t bin,
                                                      bool negative,
                                                      std::int32_t height,
                                                      std::int32_t width) {
  using Kind = Change::Kind;
  const std::int32_t last = policy.bins - 1;
  const float share = static_cast<float>(bin) / static_cast<float>(last);
  const float sign = negative ? -1.0F : 1.0F;
  const auto shift = [&](std::int32_t side) {
    const float most = policy.translate > 0 ? policy.translate * static_cast<float>(side)
                                            : policy.translate_pixels;
    return sign * static_cast<float>(static_cast<std::int32_t>(most * share));
  };
  Change change{};
  change.smooth = policy.smooth;
  const auto by_factor = [&](Kind kind) {
    change.kind = kind;
    change.factor = 1 + sign * policy.factor * share;
    return change;
  };
  CenteredMap map;
  switch (op) {
    case PolicyOp::identity:
      return change;
    case PolicyOp::shear_x:  // around the upper left corner
      map.xy = sign * policy.shear * share;
      map.x0 = map.xy * 0.5F * static_cast<float>(height);
      break;
    case PolicyOp::shear_y:
      map.yx = sign * policy.shear * share;
      map.y0 = map.yx * 0.5F * static_cast<float>(width);
      break;
    case PolicyOp::translate_x:
      map.x0 = -shift(width);
      break;
    case PolicyOp::translate_y:
      map.y0 = -shift(height);
      break;
    case PolicyOp::rotate:
      map = affine_map(-sign * policy.degrees * share, 1, 0, 0, 0);
      break;
    case PolicyOp::brightness:
      return by_factor(Kind::brightness);
    case PolicyOp::color:
      return by_factor(Kind::saturation);
    case PolicyOp::contrast:
      return by_factor(Kind::contrast);
    case PolicyOp::sharpness:
      return by_factor(Kind::sharpness);
    case PolicyOp::posterize: {
      const auto fewer = static_cast<float>(policy.highest_bits - policy.lowest_bits);
      change.kind = Kind::posterize;
      change.count = policy.highest_bits - static_cast<std::int32_t>(fewer * share + 0.5F);
      return change;
    }
    case PolicyOp::solarize:  // a value from 255 (1 - share) on, rounded up, is inverted
      change.kind = Kind::solarize;
      change.count = (255 * (last - bin) + last - 1) / last;
      return change;
    case PolicyOp::autocontrast:
      change.kind = Kind::autocontrast;
      return change;
    case PolicyOp::equalize:
      change.kind = Kind::equalize;
      return change;
  }
  change.kind = Kind::affine;
  change.map = to_pixels(map, height, width);
  return change;
}

}  // namespace learn::image
