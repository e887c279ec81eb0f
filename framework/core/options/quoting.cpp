#include "framework/core/options/quoting.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cctype>

namespace learn {
namespace {

/// Removes the quoted item at the start of `text` and returns it.
std::string take_quoted(std::string_view& text, char separator) {
  const std::string_view all = text;
  std::string item;
  for (text.remove_prefix(1); !text.empty();) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c != '"') {
      item += c;
    } else if (text.starts_with('"')) {
      item += c;
      text.remove_prefix(1);
    } else {
      if (!text.empty() && text.front() != separator)
        fail<UsageError>("'{}': the closing quote must be followed by '{}'", all, separator);
      return item;
    }
  }
  fail<UsageError>("'{}': the closing quote is missing", all);
}

}  // namespace

std::vector<std::string> split_quoted(std::string_view text, char separator) {
  std::vector<std::string> items;
  while (!text.empty()) {
    if (text.starts_with('"')) {
      items.push_back(take_quoted(text, separator));
    } else {
      const std::size_t end = std::min(text.find(separator), text.size());
      if (end > 0) items.emplace_back(text.substr(0, end));
      text.remove_prefix(end);
    }
    text.remove_prefix(std::min<std::size_t>(1, text.size()));
  }
  return items;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

std::string join_quoted(const std::vector<std::string>& items, char separator) {
  std::string text;
  for (const std::string& item : items) {
    if (&item != &items.front()) text += separator;
    const bool plain =
        !item.empty() && item.front() != '"' && item.find(separator) == std::string::npos;
    text += plain ? item : in_quotes(item);
  }
  return text;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "@%+=:,./-_";
  const bool plain = std::ranges::all_of(word, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != kPlain.npos;
  });
  if (plain && !word.empty()) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_words(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace learn
