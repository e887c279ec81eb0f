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

constexpr std::size_t kShown = 10;

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
  if (!found.empty()) text += ": " + join_some(found, kShown);
  if (!added.empty()) text += fmt::format("; {} new: {}", added.size(), join_some(added, kShown));
  if (!left.empty())
    text += fmt::format("; {} in the file not used: {}", left.size(), join_some(left, kShown));
  return text;
}

}  // namespace learn
