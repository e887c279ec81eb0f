#include "framework/tensor/print.h"

#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <algorithm>

namespace learn {

std::string to_string(const Tensor& tensor, std::int64_t limit) {
  if (!tensor.defined()) return "undefined";
  std::string text = fmt::format("{}{} {}", tensor.dtype(), tensor.shape(), tensor.device());
  if (!tensor.device().is_cpu()) return text;
  text += " [";
  const std::int64_t shown = std::min(limit, tensor.elements());
  for (std::int64_t i = 0; i < shown; ++i)
    text += fmt::format("{}{:g}", i == 0 ? "" : ", ", get(tensor, i));
  return text + (shown < tensor.elements() ? ", ...]" : "]");
}

}  // namespace learn
