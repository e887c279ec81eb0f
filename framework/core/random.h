#pragma once
#include <array>
#include <cstdint>

#ifdef __CUDACC__
#define LEARN_HD __host__ __device__
#else
#define LEARN_HD
#endif

/// Random numbers as a pure function: the same bits on CPU and GPU, for any number of threads, and
/// after a resume. It has no generator object and no hidden state.
namespace learn {

/// The purpose of a draw. Each purpose has separate numbers, so that another dropout layer does not
/// change the shuffling.
enum class RandomPurpose : std::uint16_t {
  init = 1,
  shuffle = 2,
  dropout = 3,
  augment = 4,
  split = 5,
  synthetic = 6,
  mix = 7,
  test = 8,
  noise = 9,
};

struct Random4 {
  std::uint32_t v[4];
};

/// Philox4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
LEARN_HD constexpr Random4 philox4x32(Random4 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * counter.v[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * counter.v[2];
    counter = Random4{{static_cast<std::uint32_t>(p1 >> 32U) ^ counter.v[1] ^ key0,
                       static_cast<std::uint32_t>(p1),
                       static_cast<std::uint32_t>(p0 >> 32U) ^ counter.v[3] ^ key1,
                       static_cast<std::uint32_t>(p0)}};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

/// Four random words for (seed, purpose, batch, element). `batch` uses its low 48 bits.
LEARN_HD constexpr Random4 random4(std::uint64_t seed,
                                   RandomPurpose purpose,
                                   std::uint64_t batch,
                                   std::uint64_t element) {
  const Random4 counter{{static_cast<std::uint32_t>(element),
                         static_cast<std::uint32_t>(element >> 32U),
                         static_cast<std::uint32_t>(batch),
                         (static_cast<std::uint32_t>(purpose) << 16U) |
                             (static_cast<std::uint32_t>(batch >> 32U) & 0xFFFFU)}};
  return philox4x32(
      counter, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U));
}

/// Uniform in [0, 1), 24 bits.
LEARN_HD constexpr float uniform01(std::uint32_t word) {
  return static_cast<float>(word >> 8U) * 0x1p-24F;
}

/// Uniform integer in [0, n), n > 0, by multiply-shift; the bias is below n / 2^32.
LEARN_HD constexpr std::uint32_t uniform_below(std::uint32_t word, std::uint32_t n) {
  return static_cast<std::uint32_t>((std::uint64_t{word} * n) >> 32U);
}

}  // namespace learn
