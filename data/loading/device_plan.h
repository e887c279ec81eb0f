#pragma once
#include "data/loading/transforms.h"
#include "framework/kernels/augment/augment_plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace learn::data {

/// The same list for kernels::augment, which makes the same bits on a device. Nothing if the list
/// holds what a device cannot do: a function of the user's, or more steps, holes or channels than a
/// plan has room for; and for samples that are no images of u8. The list must be one that Pipeline
/// accepts for them.
[[nodiscard]] std::optional<AugmentPlan> device_plan(const std::vector<Transform>& transforms,
                                                     const Normalization& normalization,
                                                     const SampleForm& form);

}  // namespace learn::data
