#include "apps/learn/common/ranks.h"

#include "apps/learn/common/signals.h"
#include "framework/core/console.h"
#include "framework/core/host_name.h"
#include "framework/core/log.h"
#include "framework/distributed/communicator_library.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

namespace learn::cli {
namespace {

using namespace std::chrono_literals;

Communicator* opened = nullptr;

/// The place of this process among several that a launcher started, or nothing. An error may come
/// before they are connected.
std::optional<RankPlace> place_among_several() noexcept {
  if (opened != nullptr) return opened->place();
  try {
    const auto launcher = find_launcher();
    if (!launcher || !launcher->several()) return std::nullopt;
    return RankPlace{.rank = launcher->rank, .host = host_name()};
  } catch (const Error&) {  // variables that contradict each other: the error to be reported
    return std::nullopt;
  }
}

/// Lets the first rank that has an error print it and end the others, which often have the same
/// error, or one that follows from it. In those the launcher's signal ends the wait and the
/// process.
void wait_for_lower_ranks(int rank, ExitCode code) {
  constexpr auto kLauncherKills = 4s;  // Open MPI does 2 s after its signal
  const bool signalled = caught_signal() != 0;
  // Without a connection the launcher only learns of the exit, and ends the others a second later.
  auto delay = opened != nullptr ? 500ms * std::min(rank, 4) : 1500ms * std::min(rank, 2);
  // A rank that was stopped finds after it continues that it came too late. The launcher's signal
  // may follow in a moment.
  if (code == ExitCode::ranks) delay += 200ms;
  if (code == ExitCode::ranks && signalled) delay = kLauncherKills;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < delay) {
    std::this_thread::sleep_for(10ms);
    if (!signalled && caught_signal() != 0) std::_Exit(static_cast<int>(code));
  }
}

}  // namespace

void check_one_process(const std::string& what) {
  if (const auto launcher = find_launcher(); launcher && launcher->several())
    fail<UsageError>("{} is for one process: run it without the launcher", what);
}

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
  const std::optional<RankPlace> place = place_among_several();
  if (place) wait_for_lower_ranks(place->rank, code);
  console::say(
      stderr,
      place ? fmt::format("error: {}: {}", place->name(), what) : fmt::format("error: {}", what));
  if (opened != nullptr) opened->end_all(code);
  return static_cast<int>(code);
}

}  // namespace learn::cli
