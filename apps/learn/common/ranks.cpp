#include "apps/learn/common/ranks.h"

#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/distributed/communicator_library.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

namespace learn::cli {
namespace {

/// Kept until the process ends, so that it can end the others after any error.
std::unique_ptr<Communicator>& connection() {
  static std::unique_ptr<Communicator> open;
  return open;
}

}  // namespace

Communicator* open_ranks(std::chrono::milliseconds deadline) {
  const auto launcher = find_launcher();
  if (!launcher || !launcher->several()) return nullptr;
  connection() = open_communicator(*launcher, {.deadline = deadline});
  if (connection()->place().rank > 0) {
    console::mute(true);
    log::set_terminal_level(log::Level::off);
  }
  return connection().get();
}

Communicator* open_ranks() noexcept { return connection().get(); }

void close_ranks() { connection().reset(); }

int report_error(std::string_view what, ExitCode code) noexcept {
  log::flush();
  console::mute(false);
  Communicator* const ranks = open_ranks();
  if (ranks == nullptr) {
    console::say(stderr, fmt::format("error: {}", what));
    return static_cast<int>(code);
  }
  // All ranks that still answer have the same error then, and the first of them ends the others.
  if (code == ExitCode::ranks)
    std::this_thread::sleep_for(std::chrono::milliseconds(500) * std::min(ranks->place().rank, 8));
  console::say(stderr, fmt::format("error: {}: {}", ranks->place().name(), what));
  ranks->end_all(code);
  return static_cast<int>(code);  // for compilers that do not see that the call does not return
}

}  // namespace learn::cli
