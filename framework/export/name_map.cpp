#include "framework/export/name_map.h"

#include "framework/core/error.h"

#include <algorithm>
#include <sstream>

namespace learn::exported {
namespace {

std::string trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

/// What the stars of a pattern stand for, the first as little as can be; nothing if it does not
/// fit.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos)
    return pattern == name ? std::optional(std::vector<std::string>()) : std::nullopt;
  if (!name.starts_with(pattern.substr(0, star))) return std::nullopt;
  for (std::size_t end = star; end <= name.size(); ++end) {
    auto rest = match(pattern.substr(star + 1), name.substr(end));
    if (!rest) continue;
    rest->insert(rest->begin(), std::string(name.substr(star, end - star)));
    return rest;
  }
  return std::nullopt;
}

std::string filled(std::string_view pattern, const std::vector<std::string>& texts) {
  std::string out;
  auto text = texts.begin();
  for (const char c : pattern) out += c == '*' ? *text++ : std::string(1, c);
  return out;
}

}  // namespace

NameMap::NameMap(std::string_view text, const std::string& source) {
  std::istringstream in{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos)
      fail<UsageError>("{}, line {}: '{}' is no rule 'theirs = ours'", source, number, line);
    Rule rule{trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1))};
    if (rule.theirs.empty())
      fail<UsageError>("{}, line {}: '{}' says no name of theirs", source, number, line);
    constexpr std::ptrdiff_t kStars = 4;  // each is tried at every place of a name
    const std::ptrdiff_t stars = std::ranges::count(rule.theirs, '*');
    if (std::ranges::count(rule.ours, '*') > stars || stars > kStars)
      fail<UsageError>(
          "{}, line {}: '{}' has more '*' on the right than on the left, or more than {}",
          source,
          number,
          line,
          kStars);
    rules_.push_back(std::move(rule));
  }
}

std::optional<std::string> NameMap::operator()(std::string_view name) const {
  for (const Rule& rule : rules_) {
    const auto texts = match(rule.theirs, name);
    if (!texts) continue;
    if (rule.ours.empty()) return std::nullopt;
    return filled(rule.ours, *texts);
  }
  return std::string(name);
}

}  // namespace learn::exported
