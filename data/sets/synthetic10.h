#pragma once
#include "data/dataset.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace learn::data {

/// The two levels of synthetic10: `normal` trains a small net within minutes; `hard` has fainter
/// and smaller shapes at every angle, and more clutter.
enum class SyntheticLevel : std::uint8_t { normal, hard };

struct SyntheticOptions {
  SyntheticLevel level = SyntheticLevel::normal;
  Split split = Split::train;
  std::uint64_t seed = 0;  ///< another seed gives another data set, with other checksums
  std::int64_t first = 0;  ///< images [first, first + count) of the split
  std::int64_t count = 0;  ///< 0: all of them
  int threads = 0;         ///< 0: physical cores
  DataProgress progress;
};

inline constexpr std::int64_t kSyntheticTrain = 50'000;
inline constexpr std::int64_t kSyntheticTest = 10'000;

/// Ten kinds of drawn shapes on cluttered backgrounds, 32x32 colour: a substitute where CIFAR-10 is
/// not available. Computed with integers only, each image from (seed, split, index), so the bytes
/// are the same on every machine, for any number of threads and any part of the set. Classes are
/// balanced: each run of ten images holds one of each. A net needs shape, not colour: a linear
/// model stays below 25 %. Throws UsageError for a range outside the split.
[[nodiscard]] Dataset synthetic10(const SyntheticOptions& options);

/// Returns the names of the ten shapes by label: "disk", "ring", ...
[[nodiscard]] inline std::vector<std::string> synthetic_classes() {
  return {"disk",
          "ring",
          "square",
          "frame",
          "triangle",
          "cross",
          "hexagram",
          "crescent",
          "bars",
          "arrow"};
}

/// Returns the class of image `index`, and its pixels as CIFAR stores them: red, green and blue
/// planes of 1024 bytes.
[[nodiscard]] std::uint8_t synthetic_label(std::uint64_t seed, Split split, std::int64_t index);
void draw_synthetic(SyntheticLevel level,
                    std::uint64_t seed,
                    Split split,
                    std::int64_t index,
                    std::span<std::uint8_t, 3072> planes);

}  // namespace learn::data
