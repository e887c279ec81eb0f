#pragma once
#include "data/loading/transforms.h"
#include "framework/kernels/augment/augment_plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace learn::data {

/// The list for kernels::augment, with the same bits on a device. Empty if a device cannot run it
/// (custom functions; more steps, holes or channels than a plan can hold), and for samples other
/// than u8 images. The list must be one that Pipeline accepts for them.
[[nodiscard]] std::optional<AugmentPlan> device_plan(const std::vector<Transform>& transforms,
                                                     const Normalization& normalization,
                                                     const SampleForm& form);

}  // namespace learn::data
