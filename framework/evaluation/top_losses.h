#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace learn {

/// Places of the `count` largest losses, the largest first, or of the smallest, the smallest first;
/// all of them if there are fewer. A NaN is larger than any number, and of equal ones the first
/// comes first.
[[nodiscard]] std::vector<std::size_t> top_losses(std::span<const float> losses,
                                                  std::size_t count,
                                                  bool largest = true);

}  // namespace learn
