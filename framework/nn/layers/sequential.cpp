#include "framework/nn/layers/sequential.h"

#include <fmt/core.h>

namespace learn::nn {

Module& Sequential::operator[](int i) const {
  check<UsageError>(i >= 0 && i < size(),
                    "Sequential '{}' has {} modules; number {} does not exist",
                    path(),
                    size(),
                    i);
  return *modules_[static_cast<std::size_t>(i)];
}

Var Sequential::forward(const Var& x) {
  Var y = x;
  for (const auto& module : modules_) y = (*module)(y);
  return y;
}

std::string Sequential::describe() const {
  return fmt::format("Sequential({} modules)", modules_.size());
}

}  // namespace learn::nn
