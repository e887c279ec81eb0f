#include "framework/core/host_name.h"
#include "tests/distributed/tcp/rank_processes.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace learn {
namespace {

using namespace std::chrono_literals;
using testing::Ended;
using testing::run_ranks;

constexpr int kRanks = static_cast<int>(ExitCode::ranks);
constexpr auto kLong = 20s;  // a deadline that must not be needed

std::string name_of(int rank) { return RankPlace{.rank = rank, .host = host_name()}.name(); }

void call(Communicator& c, const char* purpose = "batch 12") {
  c.set_purpose(purpose);
  (void)gather_from_all(c, c.place().rank);
}

void call_with_data(Communicator& c, int from) {
  std::vector<std::byte> bytes(50'000'000);
  c.set_purpose("the weights");
  c.broadcast(bytes, from);
}

/// Stops this process, until the test kills it.
void stop() { (void)::raise(SIGSTOP); }

/// Checks that all ranks but `lost` have the same error, soon enough, and returns its text.
std::string error_of_others(const std::vector<Ended>& ends, int lost, double seconds = 5) {
  std::string text;
  for (int rank = 0; rank < static_cast<int>(ends.size()); ++rank) {
    if (rank == lost) continue;
    const Ended& end = ends[static_cast<std::size_t>(rank)];
    CAPTURE(rank);
    CHECK(end.code == kRanks);
    CHECK(end.seconds < seconds);
    if (!text.empty()) CHECK(end.text == text);
    text = end.text;
  }
  return text;
}

TEST_CASE("TCP: a killed rank is named at once on all others") {
  for (const int lost : {0, 1, 3}) {
    CAPTURE(lost);
    const auto ends = run_ranks(
        4,
        [&](Communicator& c) {
          call(c);
          if (c.place().rank == lost) (void)::raise(SIGKILL);
          call(c, "batch 13");
        },
        kLong);
    CHECK(ends[static_cast<std::size_t>(lost)].code == -SIGKILL);
    CHECK(error_of_others(ends, lost) ==
          "the process of " + name_of(lost) +
              " ended or its host was lost: it is missing in batch 13");
  }
}

TEST_CASE("TCP: a rank that is killed while its data is under way is named") {
  for (const int lost : {0, 2}) {
    CAPTURE(lost);
    const auto ends = run_ranks(
        3,
        [&](Communicator& c) {
          if (c.place().rank == lost)
            std::thread([] {
              std::this_thread::sleep_for(30ms);
              (void)::kill(::getpid(), SIGKILL);
            }).detach();
          for (int i = 0; i < 100; ++i) call_with_data(c, lost);
        },
        kLong);
    CHECK(error_of_others(ends, lost, 10).find("the process of " + name_of(lost)) == 0);
  }
}

TEST_CASE("TCP: a stopped rank is named after the deadline") {
  for (const int lost : {0, 2}) {
    CAPTURE(lost);
    const auto ends = run_ranks(
        3,
        [&](Communicator& c) {
          call(c);
          if (c.place().rank == lost) stop();
          call(c, "batch 13");
        },
        500ms);
    CHECK(error_of_others(ends, lost, 8) ==
          name_of(lost) + " did not come to batch 13 within 0.5 s");
    const double wait = lost == 0 ? 2.5 : 0.5;  // rank 0 may still answer
    CHECK(ends[1].seconds >= wait);
  }
}

TEST_CASE("TCP: a rank that stops in the middle of its data is named") {
  for (const int lost : {0, 1}) {
    CAPTURE(lost);
    const auto ends = run_ranks(
        2,
        [&](Communicator& c) {
          if (c.place().rank == lost)
            std::thread([] {
              std::this_thread::sleep_for(30ms);
              stop();
            }).detach();
          for (int i = 0; i < 100; ++i) call_with_data(c, 0);
        },
        500ms);
    const std::string text = error_of_others(ends, lost, 8);
    CHECK(text.find(name_of(lost)) == 0);
    CHECK(text.find("the weights") != std::string::npos);
  }
}

TEST_CASE("TCP: rank 0 is named if it stops in the middle of its answer") {
  const int port = testing::free_port();
  const auto ends = testing::run_processes(2, [&](int rank) {
    if (rank == 1) {
      tcp::TcpCommunicator c(testing::launcher_of(1, 2, port), {.deadline = 300ms});
      return call(c);
    }
    const tcp::Socket listener = tcp::listen_at(port);
    tcp::Accepted accepted;
    while (!accepted.socket.open()) accepted = tcp::accept_at(listener);
    const int descriptor = accepted.socket.descriptor();
    std::vector<std::unique_ptr<tcp::Channel>> channels;
    channels.push_back(std::make_unique<tcp::Channel>(std::move(accepted.socket)));
    channels[0]->queue(tcp::Kind::welcome, 0, "nodea\nnodeb\n");
    tcp::send_queued(channels, tcp::Clock::now() + 1s);
    const tcp::Header header;
    (void)::send(descriptor, &header, sizeof header - 1, 0);
    stop();
  });
  CHECK(ends[1].code == kRanks);
  CHECK(ends[1].text == "rank 0 (nodea) stopped during batch 12: nothing came for 0.3 s");
}

TEST_CASE("TCP: a rank whose deadline passes first learns who is missing from rank 0") {
  // Without an answer rank 1 would end before the deadline of rank 0.
  const auto ends = run_ranks(
      3,
      [](Communicator& c) {
        call(c);
        if (c.place().rank == 0) std::this_thread::sleep_for(2600ms);
        if (c.place().rank == 2) stop();
        call(c, "batch 13");
      },
      3s);
  CHECK(error_of_others({ends[0], ends[1]}, -1, 8) ==
        name_of(2) + " did not come to batch 13 within 3 s");
}

TEST_CASE("TCP: rank 0 may answer until two seconds after the deadline") {
  const auto ends = run_ranks(
      2,
      [](Communicator& c) {
        call(c);
        if (c.place().rank == 0) std::this_thread::sleep_for(1s);
        call(c, "batch 13");
        call(c, "batch 14");
      },
      300ms);
  for (const Ended& end : ends) CHECK(end.text == "");
}

TEST_CASE("TCP: deadline 0 waits for ever") {
  const auto ends = run_ranks(
      2,
      [](Communicator& c) {
        for (const int slow : {0, 1}) {
          if (c.place().rank == slow) std::this_thread::sleep_for(700ms);
          call(c);
        }
      },
      0ms);
  for (const Ended& end : ends) CHECK(end.text == "");
}

TEST_CASE("TCP: a rank ends all with its code") {
  for (const int first : {0, 1, 2}) {
    CAPTURE(first);
    const auto ends = run_ranks(
        3,
        [&](Communicator& c) {
          call(c);
          if (c.place().rank == first) c.end_all(ExitCode::data);
          call(c, "batch 13");
        },
        kLong);
    for (const Ended& end : ends) {
      CHECK(end.code == static_cast<int>(ExitCode::data));
      CHECK(end.seconds < 5);
    }
  }
}

TEST_CASE("TCP: progress ends a rank that makes no calls") {
  const auto ends = run_ranks(
      3,
      [&](Communicator& c) {
        if (c.place().rank == 1) c.end_all(ExitCode::io);
        for (int i = 0; i < 500; ++i) {
          c.progress();
          std::this_thread::sleep_for(10ms);
        }
      },
      kLong);
  for (const Ended& end : ends) {
    CHECK(end.code == static_cast<int>(ExitCode::io));
    CHECK(end.seconds < 5);
  }
}

TEST_CASE("TCP: a rank that an error ends does not wait for the others") {
  const auto ends = run_ranks(
      3,
      [&](Communicator& c) {
        call(c);
        if (c.place().rank == 2) fail<DataError>("damaged");
        call(c, "batch 13");
      },
      kLong);
  CHECK(ends[2].text == "damaged");
  CHECK(error_of_others({ends[0], ends[1]}, -1).find("the process of " + name_of(2)) == 0);
}

}  // namespace
}  // namespace learn
