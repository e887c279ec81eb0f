#pragma once
#include "data/images/passed_over.h"

#include <string>
#include <vector>

namespace learn::data {

/// Returns advice for a set, or a part of it, without a class folder with images, based on the
/// files that are there instead, `files`.
[[nodiscard]] std::string advice_without_classes(const std::vector<PassedOver>& files);

}  // namespace learn::data
