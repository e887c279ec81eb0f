#include "data/loading/device_plan.h"

#include "data/loading/image_step.h"

#include <algorithm>

namespace learn::data {
namespace {

using Kind = AugmentPlan::Step::Kind;

/// Collects the steps of a list.
class Planner {
 public:
  explicit Planner(const SampleForm& form) {
    plan_.height = plan_.out_height = static_cast<std::int32_t>(form.height);
    plan_.width = plan_.out_width = static_cast<std::int32_t>(form.width);
    plan_.channels = static_cast<std::int32_t>(form.channels);
    possible_ = form.is_image() && !form.floats && form.channels <= AugmentPlan::kMaxChannels;
  }

  void add(const Transform& transform) {
    if (const auto step = image_step(transform)) {
      add(*step, step->kind == Kind::resized_crop ? 0 : kSame);
    } else if (const auto* flip = std::get_if<FlipLr>(&transform)) {
      AugmentPlan::Step mirror;
      mirror.kind = Kind::flip;
      mirror.probability = flip->p;
      mirror.alternate = flip->alternate;
      add(mirror, kSame);
    } else if (const auto* pad = std::get_if<Pad>(&transform)) {
      AugmentPlan::Step wider;
      wider.kind = pad->mode == PadMode::zero ? Kind::pad_zero : Kind::pad_reflect;
      wider.pixels = static_cast<std::int32_t>(pad->pixels);
      add(wider, kSame);
    } else if (const auto* random = std::get_if<RandomCrop>(&transform)) {
      add(with(Kind::random_crop), random->size);
    } else if (const auto* center = std::get_if<CenterCrop>(&transform)) {
      add(with(Kind::center_crop), center->size);
    } else if (const auto holes = holes_of(transform, static_cast<std::size_t>(number_));
               !holes.empty() || std::holds_alternative<Cutout>(transform)) {
      possible_ = possible_ && plan_.holes + std::ssize(holes) <= AugmentPlan::kMaxHoles;
      if (possible_) std::ranges::copy(holes, plan_.hole + plan_.holes);
      if (possible_) plan_.holes += static_cast<std::int32_t>(holes.size());
    } else {
      possible_ = false;
    }
    ++number_;
  }
  [[nodiscard]] std::optional<AugmentPlan> result(const Normalization& normalization) {
    if (!possible_) return std::nullopt;
    const Normalization all = for_channels(normalization, plan_.channels);
    std::copy(all.mean.begin(), all.mean.end(), plan_.mean);
    std::copy(all.std.begin(), all.std.end(), plan_.std);
    return plan_;
  }

 private:
  static constexpr std::int64_t kSame = -1;

  static AugmentPlan::Step with(Kind kind) {
    AugmentPlan::Step step;
    step.kind = kind;
    return step;
  }
  /// `size`: of the result; 0: the original one; kSame: with 2 `pixels` more.
  void add(AugmentPlan::Step step, std::int64_t size) {
    possible_ = possible_ && plan_.steps < AugmentPlan::kMaxSteps;
    if (!possible_) return;
    step.number = number_;
    step.height = plan_.out_height;
    step.width = plan_.out_width;
    const auto extent = [&](std::int32_t original, std::int32_t before) {
      if (size == kSame) return before + 2 * step.pixels;
      return size == 0 ? original : static_cast<std::int32_t>(size);
    };
    step.out_height = plan_.out_height = extent(plan_.height, step.height);
    step.out_width = plan_.out_width = extent(plan_.width, step.width);
    plan_.step[plan_.steps++] = step;
  }

  AugmentPlan plan_{};
  std::int32_t number_ = 0;
  bool possible_ = true;
};

}  // namespace

std::optional<AugmentPlan> device_plan(const std::vector<Transform>& transforms,
                                       const Normalization& normalization,
                                       const SampleForm& form) {
  Planner planner(form);
  for (const Transform& transform : transforms) planner.add(transform);
  return planner.result(normalization);
}

}  // namespace learn::data
