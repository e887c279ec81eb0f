#pragma once
#include "framework/tensor/tensor.h"

#include <string>

namespace learn {

/// "f32(2,3) cpu [1, 2, 3, 4, 5, 6]"; at most `limit` elements, then "...". Device memory is not
/// read.
[[nodiscard]] std::string to_string(const Tensor& tensor, std::int64_t limit = 16);

}  // namespace learn
