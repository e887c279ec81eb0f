#include "framework/core/threads/thread_pool.h"

#include "framework/core/error.h"
#include "tests/support/log_file.h"
#include "tests/support/thread_limit.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace learn;

TEST_CASE("every index runs exactly once, for any number of threads") {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const std::int64_t n : {0, 1, 2, 63, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      pool.run(n, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
      for (const auto& s : seen) CHECK(s == 1);
    }
  }
}

TEST_CASE("chunks cover the range in order and do not depend on the number of threads") {
  for (const std::int64_t n : {1, 10, 64, 65, 1000, 100000}) {
    std::vector<std::int64_t> borders[2], ends[2];
    for (const int t : {0, 1}) {
      ThreadPool pool(t == 0 ? 1 : 3);
      borders[t].assign(static_cast<std::size_t>(ThreadPool::chunk_count(n, 16)) + 1, -1);
      borders[t].back() = n;
      ends[t] = borders[t];
      pool.for_chunks(n, 16, [&](std::int64_t c, std::int64_t begin, std::int64_t end) {
        borders[t][static_cast<std::size_t>(c)] = begin;
        ends[t][static_cast<std::size_t>(c)] = end;
      });
    }
    CHECK(borders[0] == borders[1]);
    CHECK(borders[0].front() == 0);
    CHECK(std::equal(borders[0].begin() + 1, borders[0].end(), ends[0].begin()));
  }
}

TEST_CASE("chunks have at least the grain, and at most as many as a reduction has room for exist") {
  CHECK(ThreadPool::chunk_count(0, 16) == 0);
  CHECK(ThreadPool::chunk_count(100, 16) == 7);
  CHECK(ThreadPool::chunk_count(100000, 16) == ThreadPool::kMaxChunks);
}

TEST_CASE("an exception of a task reaches the caller and the pool stays usable") {
  ThreadPool pool(2);
  CHECK_THROWS_AS(pool.run(10,
                           [](std::int64_t i) {
                             if (i == 3) throw std::runtime_error("three");
                           }),
                  std::runtime_error);
  std::atomic<int> count{0};
  pool.run(10, [&](std::int64_t) { ++count; });
  CHECK(count == 10);
}

TEST_CASE("a nested run is serial and does not deadlock") {
  ThreadPool pool(2);
  std::atomic<int> count{0};
  pool.run(4, [&](std::int64_t) { pool.run(4, [&](std::int64_t) { ++count; }); });
  CHECK(count == 16);
}

TEST_CASE("many short runs in a row") {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum{0};
  for (int i = 0; i < 5000; ++i) pool.run(3, [&](std::int64_t k) { sum += k; });
  CHECK(sum == 15000);
}

// Workers poll for about 50 microseconds before they sleep, so that some runs start just then.
TEST_CASE("runs with pauses about as long as workers poll are complete") {
  for (const int threads : {2, 3}) {
    ThreadPool pool(threads);
    std::int64_t wrong = 0;
    for (int i = 0; i < 1500; ++i) {
      std::int64_t parts[4] = {};
      pool.run(4, [&](std::int64_t k) { parts[k] = k + i; });
      for (std::int64_t k = 0; k < 4; ++k) wrong += parts[k] == k + i ? 0 : 1;
      if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i % 150));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a pool that gets fewer threads than requested does its work with those") {
  for (const int granted : {0, 2}) {
    CAPTURE(granted);
    const test::LogFile log;
    std::unique_ptr<ThreadPool> pool;
    {
      const test::ThreadLimit limit(granted);
      pool = std::make_unique<ThreadPool>(8);
    }
    CHECK(pool->threads() == granted + 1);
    CHECK(log.count("only 0 of 7 worker threads could be started") == (granted == 0 ? 1U : 0U));
    std::atomic<std::int64_t> sum{0};
    pool->run(100, [&](std::int64_t i) { sum += i; });
    CHECK(sum == 4950);
  }
}

namespace {

/// Processor time that this process has used so far, of all threads.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

TEST_CASE("waiting for a long task of another thread sleeps until it is done") {
  using namespace std::chrono_literals;
  ThreadPool pool(2);
  REQUIRE(pool.threads() == 2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> started{0}, done{0};
  double before = 0;
  pool.run(2, [&](std::int64_t) {
    ++started;
    if (std::this_thread::get_id() == caller) {
      while (started < 2) std::this_thread::yield();  // the other thread has the other task
      before = processor_seconds();
    } else {
      std::this_thread::sleep_for(500ms);
    }
    ++done;
  });
  CHECK(done == 2);
  CHECK(processor_seconds() - before < 0.1);  // 50 microseconds of spinning, not 500 ms of it
}

TEST_CASE("many more threads than processors cost little") {
  // A loop for each of 300 layers. With the threads that it can use, it takes some 2 ms here; with
  // each of 512 woken for each of them, 20 s.
  ThreadPool pool(512);
  const double before = processor_seconds();
  std::atomic<std::int64_t> sum{0};
  for (int layer = 0; layer < 300; ++layer) pool.run(64, [&](std::int64_t i) { sum += i; });
  CHECK(sum == 300 * 2016);
  CHECK(processor_seconds() - before < 1);
}

TEST_CASE("no threads at all is refused") { CHECK_THROWS_AS(ThreadPool(0), UsageError); }

TEST_CASE("recorded loops have the time of each task, and those inside of tasks are part of them") {
  using namespace std::chrono_literals;
  ThreadPool pool(1);
  std::vector<std::vector<double>> loops;
  pool.record(&loops);
  pool.run(3, [&](std::int64_t i) {
    pool.run(2, [&](std::int64_t) {
      if (i == 1) std::this_thread::sleep_for(5ms);
    });
  });
  pool.run(0, [](std::int64_t) {});
  pool.parallel_for(100, 30, [](std::int64_t, std::int64_t) {});
  pool.record(nullptr);
  pool.run(5, [](std::int64_t) {});
  REQUIRE(loops.size() == 2);
  REQUIRE(loops[0].size() == 3);
  CHECK(loops[0][1] >= 0.01);
  CHECK(loops[0][1] > loops[0][0]);
  CHECK(loops[1].size() == 4);
  ThreadPool two(2);
  CHECK_THROWS_WITH_AS(
      two.record(&loops), "loops of 2 threads cannot be recorded, only of 1", UsageError);
}
