#include "apps/learn/cli/command.h"

#include "apps/learn/registrations.h"

#include <algorithm>
#include <tuple>

namespace learn::cli {

std::string_view heading(Group group) {
  switch (group) {
    case Group::train:
      return "Train";
    case Group::use:
      return "Use a model";
    case Group::runs:
      return "Look at runs";
    case Group::data:
      return "Look at data";
    case Group::about:
      return "Reference";
  }
  return "";
}

Commands::Commands() {
  for (const auto& add_to : kRegistrations) add_to(*this);
  std::ranges::sort(all_, {}, [](const Command& command) {
    return std::tuple(command.group, command.place, command.name);
  });
}

}  // namespace learn::cli
