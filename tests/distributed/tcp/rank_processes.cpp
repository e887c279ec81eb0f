#include "tests/distributed/tcp/rank_processes.h"

#include "framework/core/seconds_since.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

namespace learn::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct Process {
  pid_t id = 0;
  int output = -1;
  bool ended = false;
  bool stopped = false;
};

[[noreturn]] void run_one(int index, FunctionRef<void(int)> work, int output) {
  int code = 0;
  std::string text;
  try {
    work(index);
  } catch (const Error& error) {
    code = static_cast<int>(error.exit_code());
    text = error.what();
  } catch (const std::exception& error) {
    code = kOtherError;
    text = error.what();
  }
  (void)!::write(output, text.data(), text.size());
  std::_Exit(code);
}

std::string read_all(int descriptor) {
  std::string text(8192, '\0');
  const ssize_t count = ::read(descriptor, text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  (void)::close(descriptor);
  return text;
}

}  // namespace

std::vector<Ended> run_processes(int count, FunctionRef<void(int)> work) {
  (void)std::fflush(nullptr);
  const auto begin = Clock::now();
  std::vector<Process> processes;
  for (int i = 0; i < count; ++i) {
    std::array<int, 2> pipe{};
    (void)!::pipe(pipe.data());
    const pid_t id = ::fork();
    if (id == 0) run_one(i, work, pipe[1]);
    (void)::close(pipe[1]);
    processes.push_back({.id = id, .output = pipe[0]});
  }
  std::vector<Ended> ends(processes.size());
  bool all_stopped = false;
  for (bool running = true; running;) {
    running = false;
    const double passed = seconds_since(begin);
    const bool kill_all = all_stopped || passed > 30;
    all_stopped = true;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      Process& process = processes[i];
      if (process.ended) continue;
      if (kill_all) (void)::kill(process.id, SIGKILL);
      int status = 0;
      const bool changed = ::waitpid(process.id, &status, WNOHANG | WUNTRACED) == process.id;
      process.stopped = process.stopped || (changed && WIFSTOPPED(status));
      process.ended = changed && !WIFSTOPPED(status);
      running = running || !process.ended;
      all_stopped = all_stopped && (process.ended || process.stopped);
      if (!process.ended) continue;
      ends[i] = {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
                 .text = read_all(process.output),
                 .seconds = passed};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return ends;
}

void check_all_well(const std::vector<Ended>& ends) {
  for (const Ended& end : ends) {
    CHECK(end.code == 0);
    CHECK(end.text == "");
  }
}

void require(bool ok, const std::string& text) {
  if (!ok) throw std::runtime_error("not as promised: " + text);
}

int free_port() {
  const int socket = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t length = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  (void)::bind(socket, place, length);
  (void)::getsockname(socket, place, &length);
  (void)::close(socket);
  return ntohs(address.sin6_port);
}

Launcher launcher_of(int rank, int ranks, int port) {
  return {.name = "torchrun",
          .rank = rank,
          .ranks = ranks,
          .variable = "WORLD_SIZE",
          .meeting = Meeting{.host = "127.0.0.1", .port = port, .job = "test"}};
}

std::vector<Ended> run_ranks(int ranks,
                             FunctionRef<void(tcp::TcpCommunicator&)> work,
                             std::chrono::milliseconds deadline) {
  const int port = free_port();
  return run_processes(ranks, [&](int rank) {
    tcp::TcpCommunicator communicator(launcher_of(rank, ranks, port), {.deadline = deadline});
    work(communicator);
  });
}

}  // namespace learn::testing
