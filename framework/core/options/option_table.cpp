#include "framework/core/options/option_table.h"

#include "framework/core/options/quoting.h"

#include <charconv>
#include <cmath>
#include <stdexcept>

namespace learn {
namespace {

void check_range(double value, const std::string& text, const Range& range) {
  const bool fits = (range.open_low ? value > range.low : value >= range.low) &&
                    (range.open_high ? value < range.high : value <= range.high);
  if (!fits) fail<UsageError>("{} is not {}", text, to_string(range));
}

}  // namespace

std::string to_string(const Range& range) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (range.high == kInfinity)
    return range.low == -kInfinity
               ? ""
               : fmt::format("{} {}", range.open_low ? "above" : "at least", range.low);
  return fmt::format("in {}{}, {}{}",
                     range.open_low ? '(' : '[',
                     range.low,
                     range.high,
                     range.open_high ? ')' : ']');
}

std::int64_t parse_integer(const std::string& text, const Range& range) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    fail<UsageError>("'{}' is not a whole number", text);
  check_range(static_cast<double>(value), text, range);
  return value;
}

double parse_real(const std::string& text, const Range& range) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    fail<UsageError>("'{}' is not a number", text);
  if (!std::isfinite(value)) fail<UsageError>("'{}' is not a finite number", text);
  check_range(value, text, range);
  return value;
}

std::string toml_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + toml_text(text);
  return texts.empty() ? out : "[" + out + "]";
}

namespace detail {

std::string as_toml(double value) { return fmt::format("{}", value); }
std::string as_toml(float value) { return fmt::format("{}", value); }
std::string as_toml(std::int64_t value) { return fmt::format("{}", value); }
std::string as_toml(const std::string& text) { return toml_text(text); }
std::string as_toml(const std::filesystem::path& path) { return toml_text(path.string()); }

}  // namespace detail

std::string Option::resolved() const {
  std::string stored = toml();
  if (!stored.empty() || !by_default) return stored;
  const std::vector<std::string> known = by_default();
  return known.size() == 1 ? known.front() : std::string();
}

bool Option::is_default() const {
  const std::string stored = toml();
  return by_default ? stored.empty() : stored == usual;
}

std::string Option::default_text() const {
  if (!when_absent.empty()) return when_absent;
  if (usual == "[]") return "";
  const bool quoted = usual.starts_with('"');
  return quoted ? usual.substr(1, usual.size() - 2) : usual;
}

std::string Option::help_with_default() const {
  const std::string text = default_text();
  return text.empty() ? help : fmt::format("{} [default: {}]", help, text);
}

Option& OptionTable::add(Option option) {
  if (find(option.name) != nullptr)
    fail<std::logic_error>("the option '{}' is declared twice", option.name);
  option.group = group_;
  option.usual = option.toml();
  options_.push_back(std::move(option));
  return options_.back();
}

Option& OptionTable::flag(const std::string& name, bool& field, std::string help) {
  Option option{.name = name, .help = std::move(help), .kind = OptionKind::flag};
  option.set = [&field](const std::string& text) {
    if (text != "true" && text != "false") fail<UsageError>("'{}' is not true or false", text);
    field = text == "true";
  };
  option.toml = [&field] { return std::string(field ? "true" : "false"); };
  return add(std::move(option));
}

Option& OptionTable::choice(const std::string& name,
                            std::string& field,
                            const std::vector<std::string>& known,
                            std::string help) {
  Option& option = text(name, field, join(known, "|"), std::move(help));
  option.set = [&field, name, known](const std::string& text) {
    require_known(name, text, known);
    field = text;
  };
  return option;
}

Option& OptionTable::list(const std::string& name,
                          std::vector<std::string>& field,
                          char separator,
                          std::string value,
                          std::string help) {
  Option option{.name = name,
                .value = std::move(value),
                .help = std::move(help),
                .kind = OptionKind::list,
                .separator = separator};
  option.set = [&field, separator](const std::string& text) {
    field = split_quoted(text, separator);
    if (field.empty()) fail<UsageError>("the list is empty");
  };
  option.toml = [&field] { return toml_list(field); };
  return add(std::move(option));
}

Option& OptionTable::numbers(const std::string& name,
                             std::vector<double>& field,
                             Range range,
                             std::string value,
                             std::string help) {
  Option option{
      .name = name, .value = std::move(value), .help = std::move(help), .kind = OptionKind::list};
  option.set = [&field, range](const std::string& text) {
    std::vector<double> values;
    for (const std::string& one : split(text, ":,")) values.push_back(parse_real(one, range));
    if (values.empty()) fail<UsageError>("'{}' does not contain a number", text);
    field = std::move(values);
  };
  option.toml = [&field] {
    std::string out;
    for (const double one : field) out += fmt::format("{}{}", out.empty() ? "" : ", ", one);
    return field.empty() ? out : "[" + out + "]";
  };
  return add(std::move(option));
}

OptionTable OptionTable::with(const OptionTable& more) const {
  OptionTable all = *this;
  for (const Option& option : more.options_) {
    check<std::logic_error>(
        find(option.name) == nullptr, "the option '{}' is in both tables", option.name);
    all.options_.push_back(option);
  }
  return all;
}

OptionTable OptionTable::without(const std::vector<std::string>& left_out) const {
  for (const std::string& name : left_out)
    check<std::logic_error>(find(name) != nullptr, "option '{}' to leave out does not exist", name);
  OptionTable rest = *this;
  std::erase_if(rest.options_, [&](const Option& option) {
    return std::ranges::find(left_out, option.name) != left_out.end();
  });
  return rest;
}

void OptionTable::keep_out_of_config(std::string_view name) {
  for (Option& option : options_)
    if (option.name == name) option.in_config = false;
}

void OptionTable::mark_rare(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto option = std::ranges::find(options_, name, &Option::name);
    check<std::logic_error>(option != options_.end(), "option '{}' to mark does not exist", name);
    option->rare = true;
  }
}

const Option* OptionTable::find(std::string_view name) const {
  for (const Option& option : options_)
    if (option.name == name) return &option;
  return nullptr;
}

std::vector<std::string> OptionTable::names() const {
  std::vector<std::string> names;
  for (const Option& option : options_) names.push_back(option.name);
  return names;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace learn
