#include "data/loading/image_step.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace learn::data {
namespace {

using Step = AugmentPlan::Step;
using Kind = Step::Kind;
using Change = image::Change::Kind;
using Span = AugmentPlan::Span;

Span span(Interval interval) { return {interval.low, interval.high}; }
Span log_span(Interval interval) { return {std::log(interval.low), std::log(interval.high)}; }
Span around(float middle, float reach) { return {middle - reach, middle + reach}; }
Span factor(float reach) { return {std::max(0.0F, 1 - reach), 1 + reach}; }

std::int32_t number(std::int64_t value) { return static_cast<std::int32_t>(value); }

Step with(Kind kind, float p) {
  Step step;
  step.kind = kind;
  step.probability = p;
  return step;
}
Step single(Change change, float p, std::int64_t count = 0) {
  Step step = with(Kind::single, p);
  step.change = change;
  step.count = number(count);
  return step;
}

Step step_of(const ResizedCrop& t) {
  Step step = with(Kind::resized_crop, 1);
  step.range[0] = span(t.scale);
  step.range[1] = log_span(t.ratio);
  return step;
}
Step step_of(const Affine& t) {
  Step step = with(Kind::affine, t.p);
  step.smooth = t.interpolation == Interpolation::bilinear;
  step.range[0] = around(0, t.degrees);
  step.range[1] = around(0, t.translate);
  step.range[2] = span(t.scale);
  step.range[3] = around(0, t.shear);
  return step;
}
Step step_of(const Jitter& t) {
  Step step = with(Kind::jitter, t.p);
  step.range[0] = factor(t.brightness);
  step.range[1] = factor(t.contrast);
  step.range[2] = factor(t.saturation);
  step.range[3] = around(0, t.hue);
  return step;
}
Step step_of(const Gray& t) { return single(Change::gray, t.p); }
Step step_of(const Invert& t) { return single(Change::invert, t.p); }
Step step_of(const Posterize& t) { return single(Change::posterize, t.p, t.bits); }
Step step_of(const Solarize& t) { return single(Change::solarize, t.p, t.threshold); }
Step step_of(const Equalize& t) { return single(Change::equalize, t.p); }
Step step_of(const Autocontrast& t) { return single(Change::autocontrast, t.p); }
Step step_of(const Sharpness& t) {
  Step step = single(Change::sharpness, t.p);
  step.range[0] = span(t.factor);
  return step;
}
Step step_of(const Blur& t) {
  Step step = single(Change::blur, t.p, t.size);
  step.range[0] = span(t.sigma);
  return step;
}
Step step_of(const RandAugment& t) {
  Step step = with(Kind::randaugment, 1);
  step.count = number(t.ops);
  step.level = number(t.magnitude);
  return step;
}
Step step_of(const TrivialAugment&) { return with(Kind::trivial, 1); }
Step step_of(const AugMix& t) {
  Step step = with(Kind::augmix, 1);
  step.count = number(t.chains);
  step.level = number(t.severity);
  step.all = t.all;
  return step;
}

}  // namespace

std::optional<AugmentPlan::Step> image_step(const Transform& transform) {
  return std::visit(
      []<class T>(const T& t) -> std::optional<AugmentPlan::Step> {
        if constexpr (requires { step_of(t); })
          return step_of(t);
        else
          return std::nullopt;
      },
      transform);
}

std::vector<AugmentPlan::Hole> holes_of(const Transform& transform, std::size_t number_of_step) {
  AugmentPlan::Hole hole;
  hole.number = static_cast<std::int32_t>(number_of_step);
  std::vector<AugmentPlan::Hole> holes;
  if (const auto* cutout = std::get_if<Cutout>(&transform)) {
    hole.length = number(cutout->length);
    for (; hole.hole < cutout->holes; ++hole.hole) holes.push_back(hole);
  } else if (const auto* erase = std::get_if<Erase>(&transform)) {
    hole.noise = erase->noise;
    hole.probability = erase->p;
    hole.area = span(erase->area);
    hole.log_ratio = log_span(erase->ratio);
    holes.push_back(hole);
  }
  return holes;
}

}  // namespace learn::data
