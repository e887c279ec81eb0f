#include "apps/learn/option_table.h"

#include "apps/learn/suggest.h"
#include "framework/core/error.h"

#include <charconv>
#include <cmath>

namespace learn::cli {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& separators) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void check_range(double value, const std::string& text, const Range& range) {
  const bool fits = (range.open_low ? value > range.low : value >= range.low) &&
                    (range.open_high ? value < range.high : value <= range.high);
  if (fits) return;
  if (range.high == std::numeric_limits<double>::infinity())
    fail<UsageError>(
        "{} must be {} {}", text, range.open_low ? "greater than" : "at least", range.low);
  fail<UsageError>("{} is not in {}{}, {}{}",
                   text,
                   range.open_low ? '(' : '[',
                   range.low,
                   range.high,
                   range.open_high ? ')' : ']');
}

/// The default, as the help shows it.
std::string shown(const std::string& toml) {
  return toml.empty() || toml == "\"\"" || toml == "[]" ? "" : " [" + toml + "]";
}

}  // namespace

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

std::string toml_number(double value) { return fmt::format("{}", value); }

Option& OptionTable::add(Option option) {
  option.group = group_;
  option.help += shown(option.toml());
  options_.push_back(std::move(option));
  return options_.back();
}

Option& OptionTable::flag(const std::string& name, bool& field, std::string help) {
  Option option{.name = name, .help = std::move(help), .kind = OptionKind::flag};
  option.set = [&field](const std::string& text) {
    if (text != "true" && text != "false") fail<UsageError>("'{}' is neither true nor false", text);
    field = text == "true";
  };
  option.toml = [&field] { return std::string(field ? "true" : "false"); };
  return add(std::move(option));
}

Option& OptionTable::integer(const std::string& name,
                             std::int64_t& field,
                             Range range,
                             std::string value,
                             std::string help) {
  Option option{.name = name,
                .value = std::move(value),
                .help = std::move(help),
                .kind = OptionKind::integer};
  option.set = [&field, range](const std::string& text) { field = parse_integer(text, range); };
  option.toml = [&field] { return std::to_string(field); };
  return add(std::move(option));
}

Option& OptionTable::real(
    const std::string& name, double& field, Range range, std::string value, std::string help) {
  Option option{
      .name = name, .value = std::move(value), .help = std::move(help), .kind = OptionKind::real};
  option.set = [&field, range](const std::string& text) { field = parse_real(text, range); };
  option.toml = [&field] { return toml_number(field); };
  return add(std::move(option));
}

Option& OptionTable::real(const std::string& name,
                          std::optional<double>& field,
                          Range range,
                          std::string value,
                          std::string help) {
  Option option{
      .name = name, .value = std::move(value), .help = std::move(help), .kind = OptionKind::real};
  option.set = [&field, range](const std::string& text) { field = parse_real(text, range); };
  option.toml = [&field] { return field ? toml_number(*field) : std::string(); };
  return add(std::move(option));
}

Option& OptionTable::text(const std::string& name,
                          std::string& field,
                          std::string value,
                          std::string help) {
  Option option{.name = name, .value = std::move(value), .help = std::move(help)};
  option.set = [&field](const std::string& text) { field = text; };
  option.toml = [&field] { return toml_text(field); };
  return add(std::move(option));
}

Option& OptionTable::choice(const std::string& name,
                            std::string& field,
                            std::vector<std::string> known,
                            std::string help) {
  Option& option = text(name, field, join(known, "|"), std::move(help));
  option.set = [&field, name, known = std::move(known)](const std::string& text) {
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
    field = split(text, std::string(1, separator));
    if (field.empty()) fail<UsageError>("the list is empty");
  };
  option.toml = [&field] {
    std::string out;
    for (const std::string& one : field) out += (out.empty() ? "" : ", ") + toml_text(one);
    return field.empty() ? out : "[" + out + "]";
  };
  return add(std::move(option));
}

Option& OptionTable::numbers(const std::string& name,
                             std::vector<float>& field,
                             Range range,
                             std::string value,
                             std::string help) {
  Option option{
      .name = name, .value = std::move(value), .help = std::move(help), .kind = OptionKind::list};
  option.set = [&field, range](const std::string& text) {
    std::vector<float> values;
    for (const std::string& one : split(text, ":,"))
      values.push_back(static_cast<float>(parse_real(one, range)));
    if (values.empty()) fail<UsageError>("'{}' holds no number", text);
    field = values;
  };
  option.toml = [&field] {
    std::string out;
    for (const float one : field) out += fmt::format("{}{}", out.empty() ? "" : ", ", one);
    return field.empty() ? out : "[" + out + "]";
  };
  return add(std::move(option));
}

void OptionTable::keep_out_of_config(std::string_view name) {
  for (Option& option : options_)
    if (option.name == name) option.in_config = false;
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

}  // namespace learn::cli
