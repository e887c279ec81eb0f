#pragma once
#include "data/loading/transforms.h"
#include "framework/kernels/augment/augment_plan.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace learn::data {

/// Returns a transform that changes pixels as a step of a plan, without its number and sizes;
/// nothing for all others.
[[nodiscard]] std::optional<AugmentPlan::Step> image_step(const Transform& transform);

/// Returns the holes that a Cutout or Erase at position `number` of the list makes; none for all
/// others.
[[nodiscard]] std::vector<AugmentPlan::Hole> holes_of(const Transform& transform,
                                                      std::size_t number);

}  // namespace learn::data
