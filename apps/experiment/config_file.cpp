// The only file that includes toml++.
#include "apps/experiment/config_file.h"

#include "framework/core/options/quoting.h"
#include "framework/io/atomic_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace learn {
namespace {

std::string line_of(const std::string& source, unsigned line) {
  std::istringstream lines(source);
  std::string text;
  for (unsigned i = 0; i < line; ++i) std::getline(lines, text);
  return text;
}

constexpr std::string_view kDefaultMark = "# default";

/// Returns whether the value on this line was a default when the file was written.
bool is_marked(const std::string& source, unsigned line) {
  return line_of(source, line).ends_with(kDefaultMark);
}

/// Fails with the message, the place, and the line with a mark under its `width` characters, as
/// compilers do. Shows only the part of a long line around the place.
[[noreturn]] void fail_at(const ConfigFile& file,
                          unsigned line,
                          unsigned column,
                          std::size_t width,
                          const std::string& message,
                          const std::string& hint = {},
                          SourceLocation at = SourceLocation::current()) {
  const std::string number = std::to_string(line);
  const std::string margin(number.size() + 1, ' ');
  constexpr std::size_t kShown = 120;
  std::string text = line_of(file.source, line);
  std::size_t before = column > 0 ? column - 1 : 0;
  if (text.size() > kShown) {
    const std::size_t from = std::min(before - std::min(before, kShown / 2), text.size());
    text = text.substr(from, kShown);
    before -= from;
  }
  fail_from<UsageError>(at,
                        "{}\n{}--> {}:{}:{}\n{} |\n{} | {}\n{} | {}{} {}",
                        message,
                        margin,
                        file.name,
                        line,
                        column,
                        margin,
                        " " + number,
                        text,
                        margin,
                        std::string(before, ' '),
                        std::string(std::clamp<std::size_t>(width, 1, kShown), '^'),
                        hint);
}

std::string number_text(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return std::to_string(integer->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  return {};
}

/// Returns the value as the command line would give it, or nothing if its type does not fit.
std::optional<std::string> text_of(const toml::node& node, const Option& option) {
  switch (option.kind) {
    case OptionKind::flag:
      if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
      return std::nullopt;
    case OptionKind::integer:
      if (node.is_integer()) return number_text(node);
      return std::nullopt;
    case OptionKind::real:
      if (node.is_number()) return number_text(node);
      return std::nullopt;
    case OptionKind::text:
    case OptionKind::list:
      break;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (node.is_number()) return number_text(node);
  if (option.kind == OptionKind::text) return std::nullopt;
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> items;
  for (const toml::node& item : *array) {
    const auto* text = item.as_string();
    items.push_back(text != nullptr ? text->get() : number_text(item));
    if (items.back().empty()) return std::nullopt;
  }
  return join_quoted(items, option.separator);
}

constexpr std::string_view name_of(OptionKind kind) {
  switch (kind) {
    case OptionKind::flag:
      return "true or false";
    case OptionKind::integer:
      return "a whole number";
    case OptionKind::real:
      return "a number";
    case OptionKind::text:
      return "a text in quotes, or a number";
    case OptionKind::list:
      return "a list";
  }
  return "?";
}

void add_entry(ConfigFile& file,
               const toml::key& key,
               const toml::node& node,
               const std::string& section,
               const OptionTable& table) {
  const std::string name(key.str());
  const unsigned line = key.source().begin.line;
  const unsigned column = key.source().begin.column;
  const Option* option = table.find(name);
  if (option == nullptr || !option->in_config) {
    const std::string near = nearest(name, table.names());
    fail_at(file,
            line,
            column,
            name.size(),
            option == nullptr ? fmt::format("unknown key '{}' in [{}]", name, section)
                              : fmt::format("'{}' belongs on the command line", name),
            option != nullptr || near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }
  const std::optional<std::string> text = text_of(node, *option);
  const auto at = node.source().begin;
  if (!text)
    fail_at(
        file, at.line, at.column, 1, fmt::format("'{}' must be {}", name, name_of(option->kind)));
  file.entries.push_back({name, *text, at.line, at.column, is_marked(file.source, at.line)});
}

/// Returns the position after the string that starts at `at`, which has one or three quotes of
/// either kind. An unterminated string ends at the end of its line or of the text.
std::size_t end_of_string(std::string_view source, std::size_t at) {
  const char quote = source[at];
  const bool escapes = quote == '"';
  const bool block = source.substr(at, 3) == std::string(3, quote);
  for (at += block ? 3 : 1; at < source.size(); ++at) {
    const char c = source[at];
    if (escapes && c == '\\') {
      ++at;
    } else if (!block && (c == quote || c == '\n')) {
      return at + 1;
    } else if (block && source.substr(at, 3) == std::string(3, quote)) {
      // Up to two quotes that belong to the text may precede the three that end it.
      for (at += 3; at < source.size() && source[at] == quote;) ++at;
      return at;
    }
  }
  return source.size();
}

/// Rejects long dotted keys. toml++ makes each part a nested table and visits these recursively, so
/// a long key would overflow the stack. It limits the depth of values itself.
void refuse_deep_keys(const ConfigFile& file) {
  constexpr int kMaxDots = 8;
  const std::string_view source = file.source;
  int dots = 0;
  for (std::size_t at = 0; at < source.size();) {
    const char c = source[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(source, at);
      continue;
    }
    if (c == '#') at = std::min(source.find('\n', at), source.size() - 1);
    if (std::string_view("\n=,[]{}#").find(source[at]) != std::string_view::npos) dots = 0;
    if (c == '.' && ++dots > kMaxDots) {
      const auto line = static_cast<unsigned>(
          std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
      fail_at(file,
              line + 1,
              static_cast<unsigned>(at - source.rfind('\n', at)),
              1,
              fmt::format("a key of more than {} parts", kMaxDots + 1));
    }
    ++at;
  }
}

toml::table parse_toml(const ConfigFile& file) {
  refuse_deep_keys(file);
  try {
    return toml::parse(std::string_view(file.source), std::string_view(file.name));
  } catch (const toml::parse_error& e) {
    fail_at(file,
            e.source().begin.line,
            e.source().begin.column,
            1,
            fmt::format("this is not TOML: {}", e.description()));
  }
}

/// Returns a value of any type as the command line would give it.
std::string shown(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* text = node.as_string()) return text->get();
  if (node.is_number()) return number_text(node);
  std::vector<std::string> items;
  if (const auto* array = node.as_array())
    for (const toml::node& item : *array) items.push_back(shown(item));
  return join_quoted(items, ',');
}

}  // namespace

ConfigFile parse_config(const std::string& source,
                        const std::string& name,
                        const std::string& section,
                        const OptionTable& table) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
  if (source.size() > kMaxBytes)
    fail<UsageError>(
        "{}: {} bytes, more than the {} that are read", name, source.size(), kMaxBytes);
  ConfigFile file{name, source, {}};
  const toml::table root = parse_toml(file);
  for (const auto& [key, node] : root) {
    if (key.str() != section || !node.is_table())
      fail_at(file,
              key.source().begin.line,
              key.source().begin.column,
              key.str().size(),
              fmt::format("'{}' is outside of [{}]", key.str(), section),
              table.find(key.str()) != nullptr ? fmt::format("write [{}] above it", section) : "");
    for (const auto& [name_key, value] : *node.as_table())
      add_entry(file, name_key, value, section, table);
  }
  return file;
}

ConfigFile read_config(const std::filesystem::path& path,
                       const std::string& section,
                       const OptionTable& table) {
  return parse_config(read_text_file(path), path.string(), section, table);
}

std::vector<ConfigEntry> config_values(const std::string& source,
                                       const std::string& name,
                                       const std::string& section) {
  const ConfigFile file{name, source, {}};
  const toml::table root = parse_toml(file);
  const toml::table* const entries = root[section].as_table();
  std::vector<ConfigEntry> values;
  if (entries != nullptr)
    for (const auto& [key, node] : *entries) {
      const auto at = key.source().begin;
      values.push_back({std::string(key.str()),
                        shown(node),
                        at.line,
                        at.column,
                        is_marked(source, node.source().begin.line)});
    }
  std::ranges::stable_sort(values, {}, &ConfigEntry::line);
  return values;
}

std::vector<ConfigEntry> read_config_values(const std::filesystem::path& path,
                                            const std::string& section) {
  return config_values(read_text_file(path), path.string(), section);
}

void set_options(const OptionTable& table, const ConfigFile& config) {
  const auto set = [&](const ConfigEntry& entry) {
    try {
      table.find(entry.name)->set(entry.text);
    } catch (const UsageError& e) {
      fail_at(config, entry.line, entry.column, 1, fmt::format("{}: {}", entry.name, e.what()));
    }
  };
  for (const ConfigEntry& entry : config.entries) set(entry);
  // The defaults of the file's other values are known only now.
  for (const ConfigEntry& entry : config.entries) {
    const Option& option = *table.find(entry.name);
    if (!entry.by_default || !option.by_default) continue;
    const std::string value = option.toml();
    option.clear();
    if (std::ranges::count(option.by_default(), value) == 0) set(entry);
  }
}

std::string write_config(const OptionTable& table, const std::string& section) {
  std::string text = fmt::format("[{}]\n", section);
  std::string group;
  for (const Option& option : table.all()) {
    if (!option.in_config) continue;
    std::string line;
    if (const std::string value = option.resolved(); !value.empty())
      line = fmt::format("{} = {}{}{}",
                         option.name,
                         value,
                         option.is_default() ? "  " : "",
                         option.is_default() ? kDefaultMark : "");
    else if (option.by_default && !option.by_default().empty())
      line = fmt::format("# {}: {}", option.name, option.when_absent);
    if (line.empty()) continue;
    if (option.group != group) text += fmt::format("\n# {}\n", option.group);
    group = option.group;
    text += line + "\n";
  }
  return text;
}

}  // namespace learn
