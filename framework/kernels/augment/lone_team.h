#pragma once
#include "framework/kernels/augment/change_image.h"
#include "framework/kernels/common/cpu/vectorize.h"

#include <algorithm>
#include <cstdint>

namespace learn::image {

/// A team of one thread on a CPU (change_image.h).
class LoneTeam {
 public:
  explicit LoneTeam(TeamMemory& memory) : memory_(&memory) {}

  template <class F>
  void each(std::int32_t n, F f) const {
    LEARN_VECTORIZE
    for (std::int32_t i = 0; i < n; ++i) f(i);
  }
  template <class F>
  void grid(std::int32_t rows, std::int32_t n, F f) const {
    for (std::int32_t row = 0; row < rows; ++row) {
      LEARN_VECTORIZE
      for (std::int32_t i = 0; i < n; ++i) f(row, i);
    }
  }
  template <class Taps, class Value, class Put>
  void add_up(std::int32_t rows, std::int32_t n, Taps taps, Value value, Put put) const {
    constexpr std::int32_t kStrip = 512;
    std::uint32_t sums[kStrip];
    for (std::int32_t row = 0; row < rows; ++row) {
      const std::int32_t* const tap = taps(row);
      for (std::int32_t first = 0; first < n; first += kStrip) {
        const std::int32_t count = std::min(kStrip, n - first);
        for (std::int32_t i = 0; i < count; ++i) sums[i] = 0;
        for (std::int32_t k = 0; k < tap[1]; ++k) {
          const auto* const from = value(row, k) + first;
          const auto weight = static_cast<std::uint32_t>(tap[2 + k]);
          for (std::int32_t i = 0; i < count; ++i) sums[i] += weight * from[i];
        }
        LEARN_VECTORIZE
        for (std::int32_t i = 0; i < count; ++i) put(row, first + i, sums[i]);
      }
    }
  }
  template <class F>
  [[nodiscard]] std::uint64_t sum(std::int32_t n, F f) const {
    constexpr std::int32_t kBlock = 1 << 16;  // 255 of each fit in 32 bits
    std::uint64_t sum = 0;
    for (std::int32_t first = 0; first < n; first += kBlock) {
      const std::int32_t last = std::min(n, first + kBlock);
      std::uint32_t part = 0;
      for (std::int32_t i = first; i < last; ++i) part += f(i);
      sum += part;
    }
    return sum;
  }
  template <class F>
  void tally(std::int32_t n, std::uint32_t* bins, F f) const {
    for (std::int32_t i = 0; i < n; ++i) ++bins[f(i)];
  }
  void sync() const {}
  [[nodiscard]] bool leads() const { return true; }
  [[nodiscard]] TeamMemory* shared() const { return memory_; }

 private:
  TeamMemory* memory_;
};

}  // namespace learn::image
