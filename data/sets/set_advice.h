#pragma once
#include "data/images/passed_over.h"

#include <string>
#include <vector>

namespace learn::data {

/// Advice for a set, or a part of it, without class folders with images, based on `files`, which it
/// contains instead.
[[nodiscard]] std::string advice_without_classes(const std::vector<PassedOver>& files);

}  // namespace learn::data
