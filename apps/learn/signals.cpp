#include "apps/learn/signals.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace learn::cli {
namespace {

// A handler can reach nothing but statics; this is the program's one mutable static.
std::atomic<int> caught{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler may not wait for a lock");

extern "C" void on_signal(int number) {
  int none = 0;
  if (caught.compare_exchange_strong(none, number)) return;
  constexpr std::string_view kText = "\nlearn: second signal, leaving at once\n";
  const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  (void)written;
  ::_exit(128 + number);
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  ::sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

const std::atomic<int>& caught_signal() noexcept { return caught; }

}  // namespace learn::cli
