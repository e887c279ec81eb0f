// The loop with its listeners, as text, from the table that dispatches.
#include "framework/learner/learner.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace learn {
namespace {

/// The event that a line of the loop is, or `kEventCount` for none.
std::size_t event_index(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  for (std::size_t i = 0; i < kEventCount; ++i)
    if (name_of(static_cast<Event>(i)) == line) return i;
  return kEventCount;
}

}  // namespace

std::string Learner::explain() const {
  std::string out;
  for (std::string_view rest = kLoop; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    std::string names;
    if (const std::size_t event = event_index(line); event < kEventCount)
      for (const Callback* callback : listeners(static_cast<Event>(event)))
        names += fmt::format("{}{}", names.empty() ? "" : ", ", callback->name());
    out += names.empty() ? fmt::format("{}\n", line) : fmt::format("{:<22}{}\n", line, names);
  }
  return out;
}

}  // namespace learn
