#include "framework/kernels/common/cpu/cast.h"

#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/tensor/convert.h"

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 32768;

}  // namespace

template <class From, class To>
void cast(ThreadPool& threads, const From* x, To* y, GradMode mode, std::int64_t n) {
  simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
    if (mode == GradMode::overwrite) {
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i) y[i] = from_float<To>(as_float(x[i]));
    } else {
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i)
        y[i] = from_float<To>(as_float(y[i]) + as_float(x[i]));
    }
  });
}

#define LEARN_INSTANTIATE(From)                                                 \
  template void cast(ThreadPool&, const From*, float*, GradMode, std::int64_t); \
  template void cast(ThreadPool&, const From*, Half*, GradMode, std::int64_t);  \
  template void cast(ThreadPool&, const From*, BFloat16*, GradMode, std::int64_t);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
