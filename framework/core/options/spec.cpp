#include "framework/core/options/spec.h"

#include <algorithm>

namespace learn {
namespace {

/// The end of the first item of a list: at a comma that no parentheses enclose, or at its end.
std::size_t end_of_item(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth < 0) break;
    if (text[i] == ',' && depth == 0) return i;
  }
  if (depth != 0) fail<UsageError>("the parentheses of '{}' do not match", text);
  return text.size();
}

/// Removes parentheses around the whole value, but none from "(a)_(b)".
std::string_view without_parentheses(std::string_view value) {
  if (!value.starts_with('(')) return value;
  int depth = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '(') ++depth;
    if (value[i] == ')' && --depth == 0)
      return i + 1 == value.size() ? value.substr(1, i - 1) : value;
  }
  return value;
}

std::string with_parentheses(const std::string& value) {
  const bool needed =
      value.find(',') != std::string::npos || without_parentheses(value).size() < value.size();
  return needed ? '(' + value + ')' : value;
}

}  // namespace

Spec Spec::parse(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  Spec spec{std::string(text.substr(0, colon)), {}};
  std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  while (!rest.empty()) {
    const std::size_t end = end_of_item(rest);
    const std::string_view item = rest.substr(0, end);
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      fail<UsageError>("{}: '{}' is not of the form key=value", spec.name, item);
    spec.options.emplace_back(item.substr(0, equals), without_parentheses(item.substr(equals + 1)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return spec;
}

std::string Spec::text() const {
  std::string out = name;
  for (const auto& [key, value] : options)
    out += (out.size() == name.size() ? ':' : ',') + key + '=' + with_parentheses(value);
  return out;
}

void Spec::set(const OptionTable& table) const {
  std::vector<std::string> seen;
  for (const auto& [key, value] : options) {
    const Option* const option = table.find(key);
    if (option == nullptr) {
      const std::vector<std::string> known = table.names();
      fail<UsageError>("{} has no option '{}'{}; it has: {}",
                       name,
                       key,
                       did_you_mean(key, known),
                       known.empty() ? "none" : join(known));
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      fail<UsageError>("{}: option '{}' is given twice", name, key);
    seen.push_back(key);
    try {
      option->set(value);
    } catch (const UsageError& e) {
      fail<UsageError>("{}: {}={}: {}", name, key, value, e.what());
    }
  }
}

}  // namespace learn
