#include "framework/kernels/common/cpu/bias.h"

#include "framework/core/threads/thread_pool.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/tensor/convert.h"

#include <algorithm>

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;

}  // namespace

template <class T>
void bias_backward(
    const Exec& exec, const T* dy, std::int64_t rows, std::int64_t k, T* db, GradMode mode) {
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(k, 1));
  const std::int64_t chunks = ThreadPool::chunk_count(rows, grain);
  const FloatWorkspace partials(exec.workspace, chunks * k);
  exec.threads.for_chunks(
      rows, grain, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
        float* sums = partials.data() + chunk * k;
        std::fill_n(sums, k, 0.0F);
        for (std::int64_t i = begin; i < end; ++i)
          for (std::int64_t j = 0; j < k; ++j) sums[j] += as_float(dy[i * k + j]);
      });
  for (std::int64_t j = 0; j < k; ++j) {
    float sum = mode == GradMode::accumulate ? as_float(db[j]) : 0;
    for (std::int64_t c = 0; c < chunks; ++c) sum += partials.data()[c * k + j];
    db[j] = from_float<T>(sum);
  }
}

#define LEARN_INSTANTIATE(T) \
  template void bias_backward(const Exec&, const T*, std::int64_t, std::int64_t, T*, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
