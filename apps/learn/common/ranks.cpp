#include "apps/learn/common/ranks.h"

#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/distributed/communicator_library.h"

#include <algorithm>
#include <string>
#include <thread>

namespace learn::cli {
namespace {

Communicator* opened = nullptr;

}  // namespace

Communicator* open_ranks(std::chrono::milliseconds deadline) {
  opened = ranks_of_process({.deadline = deadline});
  if (opened != nullptr && opened->place().rank > 0) {
    console::mute(true);
    log::set_terminal_level(log::Level::off);
  }
  return opened;
}

void close_ranks() {
  opened = nullptr;
  leave_ranks();
}

int report_error(std::string_view what, ExitCode code) noexcept {
  log::flush();
  console::mute(false);
  if (opened == nullptr) {
    console::say(stderr, fmt::format("error: {}", what));
    return static_cast<int>(code);
  }
  // All ranks that still answer have the same error then, and the first of them ends the others.
  if (code == ExitCode::ranks)
    std::this_thread::sleep_for(std::chrono::milliseconds(500) * std::min(opened->place().rank, 8));
  console::say(stderr, fmt::format("error: {}: {}", opened->place().name(), what));
  opened->end_all(code);
  return static_cast<int>(code);  // for compilers that do not see that the call does not return
}

}  // namespace learn::cli
