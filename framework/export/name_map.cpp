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

/// Returns the texts that the stars of a pattern match, earlier ones as short as possible; nothing
/// if the name does not match. Taking the first occurrence of each piece between stars leaves the
/// most text for the later pieces.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view name) {
  std::size_t star = pattern.find('*');
  if (star == std::string_view::npos)
    return pattern == name ? std::optional(std::vector<std::string>()) : std::nullopt;
  if (!name.starts_with(pattern.substr(0, star))) return std::nullopt;
  name.remove_prefix(star);
  std::vector<std::string> texts;
  while (true) {
    const std::size_t next = pattern.find('*', star + 1);
    const bool last = next == std::string_view::npos;
    const std::string_view piece =
        pattern.substr(star + 1, last ? std::string_view::npos : next - star - 1);
    const std::size_t at = !last                   ? name.find(piece)
                           : name.ends_with(piece) ? name.size() - piece.size()
                                                   : std::string_view::npos;
    if (at == std::string_view::npos) return std::nullopt;
    texts.emplace_back(name.substr(0, at));
    name.remove_prefix(at + piece.size());
    if (last) return texts;
    star = next;
  }
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
      fail<UsageError>(
          "{}, line {}: '{}' is not a rule of the form 'theirs = ours'", source, number, line);
    Rule rule{trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1))};
    if (rule.theirs.empty())
      fail<UsageError>("{}, line {}: '{}' has no name on the left", source, number, line);
    if (std::ranges::count(rule.ours, '*') > std::ranges::count(rule.theirs, '*'))
      fail<UsageError>(
          "{}, line {}: '{}' has more '*' on the right than on the left", source, number, line);
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
