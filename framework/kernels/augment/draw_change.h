#pragma once
#include "framework/kernels/augment/affine_map.h"
#include "framework/kernels/augment/augment_draw.h"
#include "framework/kernels/augment/image_change.h"
#include "framework/kernels/augment/policies.h"
#include "framework/kernels/common/exp_log_polynomials.h"

#include <cmath>
#include <cstdint>

/// Draws what a step does to one image.
namespace learn::image {

/// Returns a length from 1 to `most`, or 0 if rounding gives none of them.
[[nodiscard]] LEARN_HD inline std::int32_t rounded_length(float length, std::int32_t most) {
  const float rounded = length + 0.5F;
  return rounded < static_cast<float>(most + 1) ? static_cast<std::int32_t>(rounded) : 0;
}

/// Returns a part of the image with a share and proportions from the step's ranges, as
/// torchvision's RandomResizedCrop: the first of ten draws that fits, otherwise the largest centred
/// part with allowed proportions.
[[nodiscard]] LEARN_HD inline Window draw_window(const AugmentPlan::Step& step,
                                                 const AugmentDraw& draw,
                                                 std::int32_t height,
                                                 std::int32_t width) {
  constexpr int kAttempts = 10;
  const float area = static_cast<float>(height) * static_cast<float>(width);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Random4 r = draw(step.number, attempt);
    const float part = area * uniform_in(step.range[0], r.v[0]);
    const float ratio = exp_polynomial(uniform_in(step.range[1], r.v[1]));
    const std::int32_t w = rounded_length(std::sqrt(part * ratio), width);
    const std::int32_t h = rounded_length(std::sqrt(part / ratio), height);
    if (w < 1 || h < 1) continue;
    return {
        static_cast<std::int32_t>(
            uniform_below(r.v[2], static_cast<std::uint32_t>(height - h + 1))),
        static_cast<std::int32_t>(uniform_below(r.v[3], static_cast<std::uint32_t>(width - w + 1))),
        h,
        w};
  }
  const float ratio = static_cast<float>(width) / static_cast<float>(height);
  const float least = exp_polynomial(step.range[1].low);
  const float most = exp_polynomial(step.range[1].high);
  std::int32_t h = height;
  std::int32_t w = width;
  if (ratio < least) h = rounded_length(static_cast<float>(w) / least, height);
  if (ratio > most) w = rounded_length(static_cast<float>(h) * most, width);
  h = h < 1 ? 1 : h;
  w = w < 1 ? 1 : w;
  return {(height - h) / 2, (width - w) / 2, h, w};
}

[[nodiscard]] LEARN_HD inline AffineMap draw_affine(const AugmentPlan::Step& step,
                                                    const AugmentDraw& draw,
                                                    std::int32_t height,
                                                    std::int32_t width) {
  const Random4 first = draw(step.number, 0);
  const Random4 second = draw(step.number, 1);
  const auto shift = [&](std::uint32_t word, std::int32_t side) {
    const float pixels = uniform_in(step.range[1], word) * static_cast<float>(side);
    return static_cast<float>(
        static_cast<std::int32_t>(pixels < 0 ? pixels - 0.5F : pixels + 0.5F));
  };
  return to_pixels(affine_map(uniform_in(step.range[0], first.v[0]),
                              uniform_in(step.range[2], second.v[0]),
                              uniform_in(step.range[3], second.v[1]),
                              shift(first.v[1], width),
                              shift(first.v[2], height)),
                   height,
                   width);
}

/// Returns number `i` of the four operations on colours, whose order is drawn, as torchvision's
/// ColorJitter.
[[nodiscard]] LEARN_HD inline Change draw_jitter(const AugmentPlan::Step& step,
                                                 const AugmentDraw& draw,
                                                 int i) {
  using Kind = Change::Kind;
  const Random4 first = draw(step.number, 0);
  const Random4 second = draw(step.number, 1);
  std::uint32_t order = 0x3210;  // four numbers of four bits
  std::uint32_t permutation = uniform_below(second.v[1], 24);
  for (std::uint32_t n = 4; n > 1; --n) {
    const std::uint32_t other = permutation % n;
    permutation /= n;
    const std::uint32_t changed = (order >> 4 * other ^ order >> 4 * (n - 1)) & 15U;
    order ^= changed << 4 * other;
    if (other != n - 1) order ^= changed << 4 * (n - 1);
  }
  const std::uint32_t which = order >> 4U * static_cast<std::uint32_t>(i) & 15U;
  const AugmentPlan::Span range = step.range[which];
  const float unchanged = which == 3 ? 0.0F : 1.0F;
  Change change{};
  if (range.low == unchanged && range.high == unchanged) return change;
  change.kind = which == 0   ? Kind::brightness
                : which == 1 ? Kind::contrast
                : which == 2 ? Kind::saturation
                             : Kind::hue;
  change.factor = uniform_in(range, which == 3 ? second.v[0] : nth(first, which));
  return change;
}

/// Returns how many changes a step is, other than augmix.
[[nodiscard]] LEARN_HD constexpr int changes_of(const AugmentPlan::Step& step) {
  using Kind = AugmentPlan::Step::Kind;
  return step.kind == Kind::jitter ? 4 : step.kind == Kind::randaugment ? step.count : 1;
}

/// Returns change `i` of a step, other than augmix, of an image of this size.
[[nodiscard]] LEARN_HD inline Change draw_change(const AugmentPlan::Step& step,
                                                 const AugmentDraw& draw,
                                                 int i,
                                                 std::int32_t height,
                                                 std::int32_t width) {
  using Kind = Change::Kind;
  using Step = AugmentPlan::Step::Kind;
  const Random4 r = draw(step.number, step.kind == Step::randaugment ? i : 0);
  Change change{};
  if (step.kind == Step::resized_crop) {
    change.kind = Kind::resize;
    change.window = draw_window(step, draw, height, width);
    return change;
  }
  if (!(uniform01(draw(step.number).v[3]) < step.probability)) return change;
  const auto op = static_cast<PolicyOp>(uniform_below(r.v[0], kPolicyOps));
  const bool negative = uniform_below(r.v[1], 2) != 0;
  switch (step.kind) {
    case Step::affine:
      change.kind = Kind::affine;
      change.smooth = step.smooth;
      change.map = draw_affine(step, draw, height, width);
      break;
    case Step::jitter:
      return draw_jitter(step, draw, i);
    case Step::single:
      change.kind = step.change;
      change.count = step.count;
      change.factor = uniform_in(step.range[0], r.v[0]);
      break;
    case Step::randaugment:
      return policy_change(rand_augment_policy(), op, step.level, negative, height, width);
    case Step::trivial:
      return policy_change(trivial_augment_policy(),
                           op,
                           static_cast<std::int32_t>(uniform_below(
                               r.v[2], static_cast<std::uint32_t>(trivial_augment_policy().bins))),
                           negative,
                           height,
                           width);
    default:
      break;
  }
  return change;
}

/// Weights of the image itself and of the chains of augmix add up to 1. The chains have
/// weights from a Dirichlet distribution whose parameters are all 1.
inline constexpr std::int32_t kMaxChains = 4;
[[nodiscard]] LEARN_HD constexpr float draw_own_weight(const AugmentPlan::Step& step,
                                                       const AugmentDraw& draw) {
  return uniform01(draw(step.number).v[0]);
}
[[nodiscard]] LEARN_HD constexpr float draw_chain_weight(const AugmentPlan::Step& step,
                                                         const AugmentDraw& draw,
                                                         std::int32_t chain) {
  const Random4 r = draw(step.number, 1);
  float sum = 0;
  float own = 0;
  for (std::int32_t i = 0; i < step.count; ++i) {
    const std::uint32_t word = nth(r, static_cast<std::uint32_t>(i));
    const float exponential = -log_polynomial((static_cast<float>(word >> 8U) + 1) * 0x1p-24F);
    sum += exponential;
    if (i == chain) own = exponential;
  }
  return sum > 0 ? (1 - draw_own_weight(step, draw)) * (own / sum) : 0.0F;
}

inline constexpr int kMaxDepth = 3;  ///< changes of a chain
[[nodiscard]] LEARN_HD constexpr int draw_depth(const AugmentPlan::Step& step,
                                                const AugmentDraw& draw,
                                                int chain) {
  return 1 + static_cast<int>(uniform_below(draw(step.number, 2 + chain).v[0], kMaxDepth));
}

[[nodiscard]] LEARN_HD constexpr Change draw_link(const AugmentPlan::Step& step,
                                                  const AugmentDraw& draw,
                                                  int chain,
                                                  int link,
                                                  std::int32_t height,
                                                  std::int32_t width) {
  constexpr std::int32_t kFirst = 2 + kMaxChains;
  constexpr std::uint32_t kColours = 4;  // brightness, color, contrast and sharpness
  const Random4 r = draw(step.number, kFirst + kMaxDepth * chain + link);
  // Without the identity.
  std::uint32_t op = 1 + uniform_below(r.v[0], kPolicyOps - 1 - (step.all ? 0 : kColours));
  if (!step.all && op >= static_cast<std::uint32_t>(PolicyOp::brightness)) op += kColours;
  const auto bin =
      static_cast<std::int32_t>(uniform_below(r.v[2], static_cast<std::uint32_t>(step.level)));
  return policy_change(aug_mix_policy(),
                       static_cast<PolicyOp>(op),
                       bin,
                       uniform_below(r.v[1], 2) != 0,
                       height,
                       width);
}

}  // namespace learn::image
