#include "data/names/class_names.h"

#include "data/names/unicode.h"
#include "framework/core/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace learn::data {

std::vector<AlikeNames> alike_names(const std::vector<std::string>& names) {
  std::map<std::string, const std::string*> first;
  std::vector<AlikeNames> pairs;
  for (const std::string& name : names)
    if (const auto [at, fresh] = first.emplace(looks_like(name), &name); !fresh)
      pairs.emplace_back(in_ascii(*at->second), in_ascii(name));
  return pairs;
}

void warn_of_alike_names(const std::vector<std::string>& names, const std::string& set) {
  constexpr std::size_t kShown = 5;
  const std::vector<AlikeNames> pairs = alike_names(names);
  if (pairs.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, pairs.size()); ++i)
    text += fmt::format("\n  '{}' and '{}'", pairs[i].first, pairs[i].second);
  if (pairs.size() > kShown)
    text += fmt::format("\n  and {} more: 'learn data verify' lists them", pairs.size() - kShown);
  log::warn(
      "[data] '{}' has different classes with similar names; if they are the same, give them the "
      "same name:{}",
      set,
      text);
}

std::string alike_hint(const std::string& name, const std::vector<std::string>& names) {
  const std::string shape = looks_like(name);
  const auto found =
      std::ranges::find_if(names, [&](const std::string& one) { return looks_like(one) == shape; });
  return found == names.end() ? ""
                              : fmt::format("; '{}' looks like '{}' but is a different name",
                                            in_ascii(name),
                                            in_ascii(*found));
}

}  // namespace learn::data
