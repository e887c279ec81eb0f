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
using testing::check_all_well;
using testing::Ended;
using testing::run_ranks;

constexpr int kRanks = static_cast<int>(ExitCode::ranks);
constexpr auto kLong = 20s;  // a deadline that must not be needed

std::string name_of(int rank) { return RankPlace{.rank = rank, .host = host_name()}.name(); }

void call(Communicator& c, const char* purpose = "batch 12") {
  c.set_purpose(purpose);
  (void)gather_from_all(c, c.place().rank);
}

/// Stops this process, until the test kills it.
void stop() { (void)::raise(SIGSTOP); }

/// Runs ranks that make two calls, between which rank `one` does something else.
std::vector<Ended> run_between_calls(int ranks,
                                     int one,
                                     FunctionRef<void(Communicator&)> between,
                                     std::chrono::milliseconds deadline = kLong) {
  return run_ranks(
      ranks,
      [&](Communicator& c) {
        call(c);
        if (c.place().rank == one) between(c);
        call(c, "batch 13");
      },
      deadline);
}

/// Runs ranks that send much data, during which rank `lost` gets a signal.
std::vector<Ended> run_with_data(
    int ranks, int from, int lost, int signal, std::chrono::milliseconds deadline = kLong) {
  return run_ranks(
      ranks,
      [&](Communicator& c) {
        if (c.place().rank == lost)
          std::thread([signal] {
            std::this_thread::sleep_for(30ms);
            (void)::kill(::getpid(), signal);
          }).detach();
        std::vector<std::byte> bytes(50'000'000);
        c.set_purpose("the weights");
        for (int i = 0; i < 100; ++i) c.broadcast(bytes, from);
      },
      deadline);
}

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

void check_all_end_soon(const std::vector<Ended>& ends, ExitCode code) {
  for (const Ended& end : ends) {
    CHECK(end.code == static_cast<int>(code));
    CHECK(end.seconds < 5);
  }
}

TEST_CASE("TCP: a killed rank is named at once on all others") {
  for (const int lost : {0, 1, 3}) {
    CAPTURE(lost);
    const auto ends = run_between_calls(4, lost, [](Communicator&) { (void)::raise(SIGKILL); });
    CHECK(ends[static_cast<std::size_t>(lost)].code == -SIGKILL);
    CHECK(error_of_others(ends, lost) ==
          "the process of " + name_of(lost) +
              " ended or its host was lost: it is missing in batch 13");
  }
}

TEST_CASE("TCP: a rank that is killed while its data is under way is named") {
  for (const int lost : {0, 2}) {
    CAPTURE(lost);
    const auto ends = run_with_data(3, lost, lost, SIGKILL);
    CHECK(error_of_others(ends, lost, 10).find("the process of " + name_of(lost)) == 0);
  }
}

TEST_CASE("TCP: a stopped rank is named after the deadline") {
  for (const int lost : {0, 2}) {
    CAPTURE(lost);
    const auto ends = run_between_calls(
        3, lost, [](Communicator&) { stop(); }, 500ms);
    CHECK(error_of_others(ends, lost, 8) ==
          name_of(lost) + " did not come to batch 13 within 0.5 s");
    const double wait = lost == 0 ? 2.5 : 0.5;  // rank 0 may still answer
    CHECK(ends[1].seconds >= wait);
  }
}

TEST_CASE("TCP: a rank that stops in the middle of its data is named") {
  for (const int lost : {0, 1}) {
    CAPTURE(lost);
    const std::string text = error_of_others(run_with_data(2, 0, lost, SIGSTOP, 500ms), lost, 8);
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
  check_all_well(run_ranks(
      2,
      [](Communicator& c) {
        call(c);
        if (c.place().rank == 0) std::this_thread::sleep_for(1s);
        call(c, "batch 13");
        call(c, "batch 14");
      },
      300ms));
}

TEST_CASE("TCP: deadline 0 waits for ever") {
  check_all_well(run_ranks(
      2,
      [](Communicator& c) {
        for (const int slow : {0, 1}) {
          if (c.place().rank == slow) std::this_thread::sleep_for(700ms);
          call(c);
        }
      },
      0ms));
}

TEST_CASE("TCP: a rank ends all with its code") {
  for (const int first : {0, 1, 2}) {
    CAPTURE(first);
    const auto end = [](Communicator& c) { c.end_all(ExitCode::data); };
    check_all_end_soon(run_between_calls(3, first, end), ExitCode::data);
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
  check_all_end_soon(ends, ExitCode::io);
}

TEST_CASE("TCP: a rank that an error ends does not wait for the others") {
  const auto ends = run_between_calls(3, 2, [](Communicator&) { fail<DataError>("damaged"); });
  CHECK(ends[2].text == "damaged");
  CHECK(error_of_others({ends[0], ends[1]}, -1).find("the process of " + name_of(2)) == 0);
}

}  // namespace
}  // namespace learn
