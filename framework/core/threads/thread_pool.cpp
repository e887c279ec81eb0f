#include "framework/core/threads/thread_pool.h"

#include "framework/core/error.h"
#include "framework/core/round_up.h"
#include "framework/core/seconds_since.h"
#include "framework/core/threads/processors.h"
#include "framework/core/threads/start_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace learn {
namespace {

// A training step runs hundreds of loops. A worker that sleeps after each would need about 50
// microseconds to wake up, so it first polls for new work for about that long. With fewer
// processors than threads, polling would take time from other threads.
constexpr int kSpins = 4000;

thread_local bool inside_task = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

struct ThreadPool::Impl {
  struct Job {
    FunctionRef<void(std::int64_t)> task;
    std::int64_t n;
    std::atomic<std::int64_t> next{0};
    std::mutex error_mutex{};
    std::exception_ptr error{};
  };

  explicit Impl(int threads)
      : processors(usable_processors()),
        spins(threads <= processors ? kSpins : 0),
        workers(start_threads(
            threads - 1, "worker threads", [this](const std::stop_token& stop) { work(stop); })) {}

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    // Under the lock, so that threads woken by the first request wait until all requests are made:
    // each one wakes all sleeping threads.
    const std::lock_guard lock(mutex);
    for (std::jthread& worker : workers) worker.request_stop();
  }

  static void take_part(Job& job) {
    inside_task = true;
    for (;;) {
      const std::int64_t i = job.next.fetch_add(1, std::memory_order_relaxed);
      if (i >= job.n) break;
      try {
        job.task(i);
      } catch (...) {
        const std::lock_guard lock(job.error_mutex);
        if (!job.error) job.error = std::current_exception();
      }
    }
    inside_task = false;
  }

  void work(const std::stop_token& stop) {
    std::uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < spins && generation.load(std::memory_order_acquire) == seen &&
                         !stop.stop_requested();
           ++spin)
        relax();
      Job* job = nullptr;
      {
        std::unique_lock lock(mutex);
        if (!wake.wait(lock, stop, [&] { return generation.load() != seen; })) return;
        seen = generation.load();
        job = current;
        if (job != nullptr) ++active;
      }
      if (job == nullptr) continue;
      take_part(*job);
      if (active.fetch_sub(1, std::memory_order_acq_rel) == 1) active.notify_one();
    }
  }

  void run(std::int64_t n, FunctionRef<void(std::int64_t)> task) {
    const std::lock_guard one_caller(callers);
    Job job{task, n};
    {
      const std::lock_guard lock(mutex);
      current = &job;
      generation.fetch_add(1, std::memory_order_acq_rel);
    }
    // More than there are processors would only wait for one another.
    const auto helpers = static_cast<std::int64_t>(workers.size());
    const std::int64_t useful = std::min<std::int64_t>(n - 1, processors);
    if (useful >= helpers)
      wake.notify_all();
    else
      for (std::int64_t i = 0; i < useful; ++i) wake.notify_one();
    take_part(job);
    {
      // No worker may take the job from here on, because it is on this stack.
      const std::lock_guard lock(mutex);
      current = nullptr;
    }
    for (int spin = 0; spin < spins && active.load(std::memory_order_acquire) > 0; ++spin) relax();
    for (int busy = active.load(std::memory_order_acquire); busy > 0;
         busy = active.load(std::memory_order_acquire))
      active.wait(busy, std::memory_order_acquire);
    if (job.error) std::rethrow_exception(job.error);
  }

  void run_recorded(std::int64_t n, FunctionRef<void(std::int64_t)> task) {
    std::vector<double>& seconds = loops->emplace_back();
    inside_task = true;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      task(i);
      seconds.push_back(seconds_since(begin));
    }
    inside_task = false;
  }

  std::vector<std::vector<double>>* loops = nullptr;  // if calls are recorded
  const int processors;
  const int spins;
  std::mutex callers;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::atomic<std::uint64_t> generation{0};
  std::atomic<int> active{0};  // workers that take part in the current job
  Job* current = nullptr;
  std::vector<std::jthread> workers;  // last: they use all of the above
};

ThreadPool::ThreadPool(int threads) {
  if (threads < 1) fail<UsageError>("a thread pool needs at least one thread, not {}", threads);
  impl_ = std::make_unique<Impl>(threads);
}
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const noexcept { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::run(std::int64_t n, FunctionRef<void(std::int64_t)> task) {
  if (n <= 0) return;
  if (impl_->loops != nullptr && !inside_task) return impl_->run_recorded(n, task);
  if (n == 1 || impl_->workers.empty() || inside_task) {
    for (std::int64_t i = 0; i < n; ++i) task(i);
    return;
  }
  impl_->run(n, task);
}

void ThreadPool::record(std::vector<std::vector<double>>* loops) {
  check<UsageError>(threads() == 1, "loops of {} threads cannot be recorded, only of 1", threads());
  impl_->loops = loops;
}

std::int64_t ThreadPool::chunk_count(std::int64_t n, std::int64_t grain) noexcept {
  if (n <= 0) return 0;
  return std::min(kMaxChunks, ceil_div(n, grain));
}

void ThreadPool::for_chunks(std::int64_t n,
                            std::int64_t grain,
                            FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)> body) {
  const std::int64_t chunks = chunk_count(n, grain);
  run(chunks, [&](std::int64_t c) { body(c, n * c / chunks, n * (c + 1) / chunks); });
}

void ThreadPool::parallel_for(std::int64_t n,
                              std::int64_t grain,
                              FunctionRef<void(std::int64_t, std::int64_t)> body) {
  for_chunks(
      n, grain, [&](std::int64_t, std::int64_t begin, std::int64_t end) { body(begin, end); });
}

}  // namespace learn
