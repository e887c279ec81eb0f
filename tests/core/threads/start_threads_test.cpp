#include "framework/core/threads/start_threads.h"

#include "tests/support/log_file.h"
#include "tests/support/thread_limit.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <atomic>
#include <string>

using namespace learn;

TEST_CASE("threads are started, and stopped where they are destroyed") {
  const test::LogFile log;
  std::atomic<int> running{0};
  {
    const auto threads = start_threads(3, "sleepers", [&](const std::stop_token& stop) {
      ++running;
      while (!stop.stop_requested()) std::this_thread::yield();
      --running;
    });
    CHECK(threads.size() == 3);
    while (running < 3) std::this_thread::yield();
  }
  CHECK(running == 0);
  CHECK(start_threads(0, "sleepers", [](const std::stop_token&) {}).empty());
  CHECK(log.text().empty());
}

TEST_CASE("where the system refuses a thread there are fewer, and one warning says how many") {
  for (const std::string granted : {"0", "2"}) {
    CAPTURE(granted);
    const test::LogFile log;
    const std::string name = "sleepers of " + granted;
    std::atomic<int> ran{0};
    for (int again = 0; again < 2; ++again) {
      std::vector<std::jthread> threads;
      {
        const test::ThreadLimit limit(std::stoi(granted));
        threads = start_threads(5, name, [&](const std::stop_token& stop) {
          ++ran;
          while (!stop.stop_requested()) std::this_thread::yield();
        });
      }
      CHECK(threads.size() == std::stoul(granted));
    }
    CHECK(ran <= 2 * std::stoi(granted));
    CHECK(
        log.count(fmt::format("only {} of 5 {} could be started (Resource temporarily unavailable)",
                              granted,
                              name)) == 1);
    CHECK(log.count("\n") == 1);
  }
}
