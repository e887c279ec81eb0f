#include "data/files/in_parallel.h"

#include "framework/core/round_up.h"
#include "framework/core/threads/processors.h"
#include "framework/core/threads/thread_pool.h"

#include <algorithm>
#include <mutex>

namespace learn::data {

void in_parallel(std::int64_t n,
                 int threads,
                 const DataProgress& progress,
                 FunctionRef<void(std::int64_t)> visit) {
  ThreadPool pool(threads_or_cores(threads));
  std::mutex mutex;
  std::int64_t done = 0;
  constexpr std::int64_t kBlock = 64;
  pool.run(ceil_div(n, kBlock), [&](std::int64_t block) {
    const std::int64_t end = std::min(n, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < end; ++i) visit(i);
    const std::lock_guard lock(mutex);
    done += end - block * kBlock;
    if (progress) progress(done, n);
  });
}

}  // namespace learn::data
