#include "data/loading/device_plan.h"

#include <algorithm>

namespace learn::data {
namespace {

using Kind = AugmentPlan::Step::Kind;

/// Collects the steps of a list, one call per transform.
class Planner {
 public:
  explicit Planner(const SampleForm& form) {
    plan_.height = plan_.out_height = static_cast<std::int32_t>(form.height);
    plan_.width = plan_.out_width = static_cast<std::int32_t>(form.width);
    plan_.channels = static_cast<std::int32_t>(form.channels);
    possible_ = form.is_image() && !form.floats && form.channels <= AugmentPlan::kMaxChannels;
  }

  void operator()(const FlipLr& t) { add({.kind = Kind::flip, .probability = t.p}); }
  void operator()(const Pad& t) {
    const auto pixels = static_cast<std::int32_t>(t.pixels);
    add({.kind = t.mode == PadMode::zero ? Kind::pad_zero : Kind::pad_reflect, .pixels = pixels});
    plan_.out_height += 2 * pixels;
    plan_.out_width += 2 * pixels;
  }
  void operator()(const RandomCrop& t) { crop(Kind::random_crop, t.size); }
  void operator()(const CenterCrop& t) { crop(Kind::center_crop, t.size); }
  void operator()(const Cutout& t) {
    for (std::int32_t hole = 0; hole < t.holes && possible_; ++hole) {
      possible_ = plan_.holes < AugmentPlan::kMaxHoles;
      if (possible_)
        plan_.hole[plan_.holes++] = {number_, hole, static_cast<std::int32_t>(t.length)};
    }
  }
  void operator()(const PixelTransform&) { possible_ = false; }
  void operator()(const ImageTransform&) { possible_ = false; }
  void operator()(const ValueTransform&) { possible_ = false; }

  void next() { ++number_; }
  [[nodiscard]] std::optional<AugmentPlan> result(const Normalization& normalization) {
    if (!possible_) return std::nullopt;
    const Normalization all = for_channels(normalization, plan_.channels);
    std::copy(all.mean.begin(), all.mean.end(), plan_.mean);
    std::copy(all.std.begin(), all.std.end(), plan_.std);
    return plan_;
  }

 private:
  void crop(Kind kind, std::int64_t size) {
    const std::int32_t height = size == 0 ? plan_.height : static_cast<std::int32_t>(size);
    const std::int32_t width = size == 0 ? plan_.width : static_cast<std::int32_t>(size);
    add({.kind = kind, .out_height = height, .out_width = width});
    plan_.out_height = height;
    plan_.out_width = width;
  }
  void add(AugmentPlan::Step step) {
    possible_ = possible_ && plan_.steps < AugmentPlan::kMaxSteps;
    if (!possible_) return;
    step.number = number_;
    step.height = plan_.out_height;
    step.width = plan_.out_width;
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
  for (const Transform& transform : transforms) {
    std::visit(planner, transform);
    planner.next();
  }
  return planner.result(normalization);
}

}  // namespace learn::data
