#include "apps/learn/common/signals.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace learn::cli {
namespace {

// A handler can only use statics.
std::atomic<int> caught{0};
std::atomic<bool> checkpoint_asked_for{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a handler may not wait for a lock");

extern "C" void on_signal(int number) {
  int none = 0;
  if (caught.compare_exchange_strong(none, number) || number == SIGHUP) return;
  constexpr std::string_view kText = "\nlearn: second signal, leaving at once\n";
  const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  (void)written;
  ::_exit(128 + number);
}

extern "C" void on_checkpoint_signal(int) { checkpoint_asked_for = true; }

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

}  // namespace

void ignore_file_size_signal() { handle(SIGXFSZ, SIG_IGN); }

void catch_signals() {
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
  // mpirun of Open MPI passes it on without a time limit.
  handle(SIGUSR2, on_signal);
  struct sigaction before {};
  ::sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) handle(SIGHUP, on_signal);
  handle(SIGUSR1, on_checkpoint_signal);
  handle(SIGPIPE, SIG_IGN);
}

const std::atomic<int>& caught_signal() noexcept { return caught; }

bool checkpoint_was_asked_for() noexcept { return checkpoint_asked_for.exchange(false); }

}  // namespace learn::cli
