#pragma once
#include "data/loading/normalization.h"
#include "data/loading/transforms.h"
#include "data/sample_form.h"
#include "framework/kernels/augment/augment_plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace learn::data {

/// Converts the list for kernels::augment, which produces the same bits on a device. Returns
/// nothing if the list holds steps that a device does not support: a user's function, or more
/// steps, holes or channels than a plan has room for; and if the samples are not u8 images. The
/// list must be one that Pipeline accepts for them.
[[nodiscard]] std::optional<AugmentPlan> device_plan(const std::vector<Transform>& transforms,
                                                     const Normalization& normalization,
                                                     const SampleForm& form);

}  // namespace learn::data
