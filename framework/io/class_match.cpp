#include "framework/io/class_match.h"

#include "framework/core/format.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace learn {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Up to ten names.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  const std::span all(names);
  return join(all.first(std::min(kShown, all.size()))) + (all.size() > kShown ? ", ..." : "");
}

}  // namespace

ClassMatch::ClassMatch(std::vector<std::string> in_file, std::vector<std::string> in_model)
    : theirs(std::move(in_file)), ours(std::move(in_model)) {
  if (!by_name()) return;
  for (const std::string& name : ours) (has(theirs, name) ? found : added).push_back(name);
  for (const std::string& name : theirs)
    if (!has(ours, name)) left.push_back(name);
}

std::int64_t ClassMatch::row_for(std::int64_t row) const {
  const auto at = std::ranges::find(theirs, ours.at(static_cast<std::size_t>(row)));
  return at == theirs.end() ? -1 : at - theirs.begin();
}

std::string ClassMatch::describe() const {
  std::string text = fmt::format("{} of {} classes found by name", found.size(), ours.size());
  if (!found.empty()) text += ": " + some_of(found);
  if (!added.empty()) text += fmt::format("; {} new: {}", added.size(), some_of(added));
  if (!left.empty())
    text += fmt::format("; {} of the file not used: {}", left.size(), some_of(left));
  return text;
}

}  // namespace learn
