#include "framework/core/host_name.h"
#include "framework/core/version.h"
#include "tests/distributed/tcp/rank_processes.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace learn {
namespace {

using namespace std::chrono_literals;
using testing::check_all_well;
using testing::Ended;
using testing::free_port;
using testing::launcher_of;
using testing::require;
using testing::run_processes;

constexpr int kRanks = static_cast<int>(ExitCode::ranks);

void join(const Launcher& launcher, std::chrono::milliseconds deadline = 20s) {
  tcp::TcpCommunicator c(launcher, {.deadline = deadline});
  (void)gather_from_all(c, 1);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

tcp::Socket connected(int port) {
  for (;;) {
    tcp::Connected made = tcp::connect_to("127.0.0.1", port, tcp::Clock::now() + 1s);
    if (made.socket.open()) return std::move(made.socket);
    std::this_thread::sleep_for(5ms);
  }
}

/// Connects, greets, and returns the answer's text; empty if the connection ends.
std::string greet(int port, std::uint64_t number, const std::string& greeting) {
  std::vector<std::unique_ptr<tcp::Channel>> channels;
  channels.push_back(std::make_unique<tcp::Channel>(connected(port)));
  channels[0]->queue(tcp::Kind::hello, number, greeting);
  while (!channels[0]->closed()) {
    (void)channels[0]->advance();
    if (const auto message = channels[0]->take()) return message->text;
    tcp::wait_for(tcp::pointers(channels), tcp::Clock::now() + 1s);
  }
  return {};
}

TEST_CASE("TCP: ranks join by a name and over IPv6") {
  for (const char* const host : {"localhost", "127.0.0.1", "::1"}) {
    const int port = free_port();
    check_all_well(run_processes(3, [&](int rank) {
      Launcher launcher = launcher_of(rank, 3, port);
      launcher.meeting->host = host;
      join(launcher);
    }));
  }
}

TEST_CASE("TCP: rank 0 may come last") {
  const int port = free_port();
  const auto ends = run_processes(3, [&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(700ms);
    join(launcher_of(rank, 3, port));
  });
  check_all_well(ends);
  CHECK(ends[1].seconds < 10);
}

TEST_CASE("TCP: ranks that do not come are named on all that have come") {
  const int port = free_port();
  const auto ends = run_processes(2, [&](int i) {
    // The deadline of rank 2 passes first.
    join(launcher_of(i * 2, 4, port), i == 0 ? 1500ms : 500ms);
  });
  for (const Ended& end : ends) {
    CHECK(end.code == kRanks);
    CHECK(end.seconds < 10);
    CHECK(has(end.text, "rank 1, 3 did not connect to rank 0 (" + host_name() + ") at port "));
    CHECK(has(end.text, "Start all 4 processes with the same MASTER_ADDR"));
  }
}

TEST_CASE("TCP: rank 0 is named if it does not come or its name has no address") {
  const int port = free_port();
  const auto ends = run_processes(2, [&](int i) {
    Launcher launcher = launcher_of(1, 2, port);
    if (i == 1) launcher.meeting->host = "no-such-host.invalid";
    join(launcher, 400ms);
  });
  CHECK(has(ends[0].text,
            "rank 0 did not answer at 127.0.0.1:" + std::to_string(port) +
                " within 0.4 s: 127.0.0.1: Connection refused. Start all 2"));
  CHECK(has(ends[1].text, "within 0.4 s: 'no-such-host.invalid' has no address"));
  for (const Ended& end : ends) CHECK(end.code == kRanks);
}

TEST_CASE("TCP: a port in use is an error that names it") {
  const int port = free_port();
  const tcp::Socket listener = tcp::listen_at(port);
  CHECK_THROWS_WITH_AS(join(launcher_of(0, 2, port)),
                       doctest::Contains(("rank 0 cannot listen at port " + std::to_string(port) +
                                          ": another program, or another job, listens there. Set "
                                          "MASTER_PORT to another port")
                                             .c_str()),
                       UsageError);
}

#ifndef __SANITIZE_ADDRESS__  // whose look at the exception needs an open file
TEST_CASE("TCP: too many open files are an error") {
  const auto ends = run_processes(1, [](int) {
    const int port = free_port();
    const tcp::Socket listener = tcp::listen_at(port);
    const tcp::Socket waiting = connected(port);
    const auto files = static_cast<rlim_t>(waiting.descriptor()) + 1;
    const rlimit limit{.rlim_cur = files, .rlim_max = files};
    require(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    (void)tcp::accept_at(listener);
  });
  CHECK(ends[0].code == kRanks);
  CHECK(has(ends[0].text, "cannot accept a connection: Too many open files. Raise the limit"));
}
#endif

TEST_CASE("TCP: strangers that send rubbish or nothing do not disturb the start") {
  const int port = free_port();
  for (const std::string_view bytes : {"",
                                       "G",
                                       "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                                       "learnTCP",
                                       "learnTCP\2\0\0\0........................"}) {
    check_all_well(run_processes(2, [&](int rank) {
      if (rank == 0) return join(launcher_of(0, 2, port));
      const tcp::Socket silent = connected(port);
      (void)::send(silent.descriptor(), bytes.data(), bytes.size(), 0);
      const tcp::Socket ended = connected(port);
      (void)::send(ended.descriptor(), bytes.data(), bytes.size(), 0);
      (void)::shutdown(ended.descriptor(), SHUT_RDWR);
      std::this_thread::sleep_for(50ms);
      join(launcher_of(1, 2, port));
    }));
  }
}

TEST_CASE("TCP: a stranger that sends nothing is disconnected after five seconds") {
  const int port = free_port();
  check_all_well(run_processes(2, [&](int rank) {
    if (rank == 0) return join(launcher_of(0, 2, port));
    const tcp::Socket silent = connected(port);
    char byte = 0;
    std::this_thread::sleep_for(4500ms);
    require(::recv(silent.descriptor(), &byte, 1, 0) < 0, "not before");
    std::this_thread::sleep_for(1s);
    while (::recv(silent.descriptor(), &byte, 1, 0) > 0) {
    }
    require(::recv(silent.descriptor(), &byte, 1, 0) == 0, "disconnected");
    join(launcher_of(1, 2, port));
  }));
}

TEST_CASE("TCP: processes that do not belong to the job are refused with the reason") {
  const int port = free_port();
  const auto one_of = [](int ranks, int rank) { return tcp::greeting_number(rank, ranks); };
  const std::string good = tcp::greeting_text(LEARN_VERSION, "nodeb", "test");
  check_all_well(run_processes(2, [&](int rank) {
    if (rank == 0) return join(launcher_of(0, 3, port));
    const auto refused = [&](std::uint64_t number, const std::string& text, const char* reason) {
      const std::string answer = greet(port, number, text);
      require(has(answer, reason), answer);
    };
    refused(one_of(3, 1),
            tcp::greeting_text("9.9.9", "nodeb", "test"),
            "it has version 9.9.9 of learn, but rank 0 has " LEARN_VERSION);
    refused(one_of(3, 1), "nonsense", "it has version nonsense of learn");
    refused(one_of(3, 1),
            tcp::greeting_text(LEARN_VERSION, "nodeb", "other"),
            "it belongs to the job 'other', but rank 0 to 'test'");
    refused(one_of(4, 1), good, "it is one of 4 ranks, but rank 0 one of 3");
    refused(one_of(3, 0), good, "rank 0 is there already, on ");
    refused(one_of(3, 3), good, "rank 3 is not below 3");
    std::vector<std::unique_ptr<tcp::Channel>> seat;
    seat.push_back(std::make_unique<tcp::Channel>(connected(port)));
    seat[0]->queue(tcp::Kind::hello, one_of(3, 2), good);
    tcp::send_queued(seat, tcp::Clock::now() + 1s);
    std::this_thread::sleep_for(50ms);
    refused(one_of(3, 2), good, "rank 2 is there already, on nodeb");
    // The seat of a rank that ends is free again.
    seat.clear();
    std::this_thread::sleep_for(50ms);
    const auto ends = run_processes(2, [&](int i) { join(launcher_of(i + 1, 3, port)); });
    for (const Ended& end : ends) require(end.code == 0, end.text);
  }));
}

TEST_CASE("TCP: a refused rank has an error which rank 0 repeats when it ends") {
  const int port = free_port();
  const auto ends =
      run_processes(2, [&](int rank) { join(launcher_of(rank, rank == 0 ? 2 : 3, port), 700ms); });
  CHECK(has(ends[1].text,
            "rank 0 at 127.0.0.1:" + std::to_string(port) +
                " refuses this process: it is one of 3 ranks, but rank 0 one of 2"));
  CHECK(has(ends[0].text,
            "The last connection that was refused, from 127.0.0.1: it is one of 3 ranks"));
}

TEST_CASE("TCP: another program at the port of rank 0 is an error") {
  for (const bool answers : {true, false}) {
    CAPTURE(answers);
    const int port = free_port();
    const auto ends = run_processes(2, [&](int rank) {
      if (rank == 1) return join(launcher_of(1, 2, port), answers ? 20s : 300ms);
      const tcp::Socket listener = tcp::listen_at(port);
      tcp::Accepted accepted;
      while (!accepted.socket.open()) accepted = tcp::accept_at(listener);
      const std::string_view text = "HTTP/1.1 400 Bad Request\r\n\r\n";
      if (answers) (void)::send(accepted.socket.descriptor(), text.data(), text.size(), 0);
      (void)::raise(SIGSTOP);
    });
    CHECK(ends[1].code == kRanks);
    CHECK(ends[1].seconds < 10);
    CHECK(has(ends[1].text,
              answers ? "is not rank 0: it is another program. Set MASTER_PORT to another port"
                      : "within 0.3 s: it accepted the connection, and did not answer"));
  }
}

}  // namespace
}  // namespace learn
