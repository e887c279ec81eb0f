#pragma once
#include "framework/core/fnv1a.h"
#include "framework/core/random.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The rules that make_nets.py and the tests share, and the shape of what it writes.
namespace learn::test {

/// A tensor in four numbers: its norm, its largest magnitude, and its products with the vectors
/// 2 * golden_uniform(name + "/a") - 1 and the same of "/b".
struct GoldenDigest {
  std::string name;
  std::vector<double> values;
};

struct GoldenNet {
  int width;
  int batch;
  int classes;
  std::vector<double> logits;
  double loss;
  std::vector<GoldenDigest> gradients;
  std::vector<GoldenDigest> buffers;  ///< after the first forward pass
  std::vector<double> losses;         ///< of ten steps
};

/// The optimizer of `losses`: SGD as PyTorch has it, weight decay on every parameter.
inline constexpr double kGoldenLr = 0.004;
inline constexpr double kGoldenMomentum = 0.9;
inline constexpr double kGoldenWeightDecay = 5e-4;

/// Element `i` of the values in [0, 1) that belong to a name.
inline double golden_uniform(std::uint64_t stream, std::int64_t i) {
  const Random4 words = random4(2026, RandomPurpose::test, stream, static_cast<std::uint64_t>(i));
  return static_cast<double>(uniform01(words.v[0]));
}

}  // namespace learn::test
