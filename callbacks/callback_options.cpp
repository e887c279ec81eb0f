#include "callbacks/registry.h"

#include <fmt/core.h>

#include <charconv>

namespace learn::callbacks {
namespace {

template <class Number>
Number parse(const std::string& owner, const std::string& key, const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    fail<UsageError>("{}: option {}={} is not a number of the kind it needs", owner, key, text);
  return value;
}

}  // namespace

CallbackOptions::CallbackOptions(std::string owner, std::string_view text)
    : owner_(std::move(owner)) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      fail<UsageError>("{}: '{}' is not of the form key=value", owner_, item);
    const std::string key(item.substr(0, equals));
    if (!given_.emplace(key, item.substr(equals + 1)).second)
      fail<UsageError>("{}: option '{}' is given twice", owner_, key);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

const std::string* CallbackOptions::take(const std::string& key) {
  const auto found = given_.find(key);
  asked_[key] = found != given_.end();
  return found == given_.end() ? nullptr : &found->second;
}

std::string CallbackOptions::text(const std::string& key, const std::string& fallback) {
  const std::string* given = take(key);
  return given != nullptr ? *given : fallback;
}

double CallbackOptions::real(const std::string& key, double fallback) {
  const std::string* given = take(key);
  return given != nullptr ? parse<double>(owner_, key, *given) : fallback;
}

std::int64_t CallbackOptions::integer(const std::string& key, std::int64_t fallback) {
  const std::string* given = take(key);
  return given != nullptr ? parse<std::int64_t>(owner_, key, *given) : fallback;
}

bool CallbackOptions::flag(const std::string& key, bool fallback) {
  const std::string* given = take(key);
  if (given == nullptr) return fallback;
  if (*given != "true" && *given != "false")
    fail<UsageError>("{}: option {}={} must be true or false", owner_, key, *given);
  return *given == "true";
}

void CallbackOptions::finish() const {
  std::string known;
  for (const auto& [key, given] : asked_)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", key);
  for (const auto& [key, value] : given_)
    if (!asked_.contains(key))
      fail<UsageError>(
          "{} has no option '{}'; it has: {}", owner_, key, known.empty() ? "none" : known);
}

}  // namespace learn::callbacks
