#pragma once
#include "data/images/passed_over.h"

#include <string>
#include <vector>

namespace learn::data {

/// What to do with a set, or a part of it, that has no class folder with images: by what is there
/// instead, `files`.
[[nodiscard]] std::string advice_without_classes(const std::vector<PassedOver>& files);

}  // namespace learn::data
