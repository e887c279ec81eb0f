#pragma once
#include "framework/core/function_ref.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace learn {

/// A fixed set of worker threads for data-parallel loops. The calling thread works too.
///
/// Work is divided into chunks whose boundaries depend only on sizes, never on the number of
/// threads, so a reduction that keeps one partial result per chunk has the same bits for any number
/// of threads. It is not defined which thread runs a chunk.
class ThreadPool {
 public:
  /// `threads` counts the caller; 1 starts none. There are fewer, with a warning, if the system
  /// refuses some (`start_threads`). Throws UsageError if it is below 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// How many there are, the caller included.
  [[nodiscard]] int threads() const noexcept;

  /// Calls `task(i)` for each i in [0, n) and returns when all are done. The first exception a task
  /// throws is thrown here, after all have ended. From inside a task it runs serially.
  void run(std::int64_t n, FunctionRef<void(std::int64_t)> task);

  /// Cuts [0, n) into chunks of at least `grain` (the last may be shorter), at most `kMaxChunks`,
  /// and calls `body(begin, end)` for each. `grain` >= 1: about 10 microseconds of work justify a
  /// chunk.
  void parallel_for(std::int64_t n,
                    std::int64_t grain,
                    FunctionRef<void(std::int64_t, std::int64_t)> body);

  /// Also passes the number of the chunk, for partial results: `body(chunk, begin, end)`.
  void for_chunks(std::int64_t n,
                  std::int64_t grain,
                  FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)> body);
  /// How many chunks `for_chunks(n, grain, ...)` makes; 0 if n is 0.
  [[nodiscard]] static std::int64_t chunk_count(std::int64_t n, std::int64_t grain) noexcept;

  /// Appends the seconds of all tasks of each later call of `run` to `loops`, for a model of more
  /// threads (apps/bench/bench_scaling.cpp); null ends that. Throws UsageError unless there is one
  /// thread.
  void record(std::vector<std::vector<double>>* loops);

  static constexpr std::int64_t kMaxChunks =
      64;  ///< enough to balance 16 cores, few enough to add up

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace learn
