#pragma once
#include "data/transforms.h"
#include "framework/kernels/augment/augment_plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace learn::data {

/// The same list for kernels::augment, which makes the same bits on a device. Nothing if the list
/// holds what a device cannot do: a function of the user's, or more steps or holes than a plan has
/// room for. The list must be one that Pipeline accepts for images of this size.
[[nodiscard]] std::optional<AugmentPlan> device_plan(const std::vector<Transform>& transforms,
                                                     const Normalization& normalization,
                                                     std::int64_t height,
                                                     std::int64_t width);

}  // namespace learn::data
