#pragma once
#include "framework/core/random.h"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace learn::data {

/// Returns the order of `order.size()` samples in a pass: unchanged, or shuffled by Fisher and
/// Yates with one random word per sample, as a function of seed and epoch alone.
inline void set_epoch_order(std::vector<std::int64_t>& order,
                            bool shuffled,
                            std::uint64_t seed,
                            std::int64_t epoch) {
  std::iota(order.begin(), order.end(), 0);
  if (!shuffled) return;
  Random4 words{};
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    const std::size_t drawn = order.size() - 1 - i;
    if (drawn % 4 == 0)
      words = random4(seed, RandomPurpose::shuffle, static_cast<std::uint64_t>(epoch), drawn / 4);
    std::swap(order[i],
              order[uniform_below(words.v[drawn % 4], static_cast<std::uint32_t>(i + 1))]);
  }
}

}  // namespace learn::data
