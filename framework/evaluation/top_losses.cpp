#include "framework/evaluation/top_losses.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace learn {

std::vector<std::size_t> top_losses(std::span<const float> losses,
                                    std::size_t count,
                                    bool largest) {
  std::vector<std::size_t> order(losses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto less = [&](std::size_t a, std::size_t b) {
    return std::isnan(losses[b]) ? !std::isnan(losses[a]) : losses[a] < losses[b];
  };
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return largest ? less(b, a) : less(a, b); });
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace learn
