// Sums, products, multiples and dropout, element by element. Reads the operands once, 16 bytes per
// thread. The elements that dropout drops are a function of seed, batch and index, so nothing is
// kept for the backward pass.
#include "framework/core/dtype.h"
#include "framework/core/random.h"
#include "framework/kernels/common/cuda/map.cuh"
#include "framework/kernels/elementwise/elementwise_kernels.h"

#include <cmath>

namespace learn::cuda {
namespace {

struct Sum {
  __device__ float operator()(std::int64_t, float a, float b) const { return a + b; }
};

struct Product {
  __device__ float operator()(std::int64_t, float a, float b) const { return a * b; }
};

struct Scaled {
  float factor;
  __device__ float operator()(std::int64_t, float x) const { return factor * x; }
};

struct Dropped {
  std::uint64_t seed, first_element;
  const std::int64_t* batch;
  std::uint32_t first_kept;
  float factor;
  __device__ float operator()(std::int64_t i, float x) const {
    const Random4 r = random4(seed,
                              RandomPurpose::dropout,
                              static_cast<std::uint64_t>(*batch),
                              first_element + static_cast<std::uint64_t>(i));
    return (r.v[0] >> 8U) >= first_kept ? x * factor : 0.0F;
  }
};

}  // namespace

template <class T>
void add(const Exec& exec, const T* a, const T* b, T* y, std::int64_t n) {
  map("add", exec, n, Sum{}, y, a, b);
}

template <class T>
void multiply(const Exec& exec, const T* a, const T* b, T* y, GradMode mode, std::int64_t n) {
  map("multiply", exec, mode, n, Product{}, y, a, b);
}

template <class T>
void scale(const Exec& exec, const T* x, double factor, T* y, GradMode mode, std::int64_t n) {
  map("scale", exec, mode, n, Scaled{static_cast<float>(factor)}, y, x);
}

template <class T>
void dropout(const Exec& exec,
             const kernels::DropoutDraw& draw,
             const T* x,
             T* y,
             GradMode mode,
             std::int64_t n) {
  // uniform01 is the upper 24 bits times 2^-24, so "below p" is a comparison of integers.
  const Dropped f{.seed = draw.seed,
                  .first_element = draw.first_element,
                  .batch = draw.batch,
                  .first_kept = static_cast<std::uint32_t>(std::ceil(draw.p * 0x1p24)),
                  .factor = static_cast<float>(1 / (1 - draw.p))};
  map("dropout", exec, mode, n, f, y, x);
}

#define LEARN_INSTANTIATE(T)                                                           \
  template void add(const Exec&, const T*, const T*, T*, std::int64_t);                \
  template void multiply(const Exec&, const T*, const T*, T*, GradMode, std::int64_t); \
  template void scale(const Exec&, const T*, double, T*, GradMode, std::int64_t);      \
  template void dropout(                                                               \
      const Exec&, const kernels::DropoutDraw&, const T*, T*, GradMode, std::int64_t);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
