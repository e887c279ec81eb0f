#pragma once
#include "framework/core/error.h"
#include "framework/core/options/suggest.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// The one language of options: what a command line, a configuration file and the text of a
/// registered thing (`gradient_clip:limit=1`) set.
namespace learn {

/// The type of an option's values, which determines how a configuration file writes them.
enum class OptionKind : std::uint8_t { flag, integer, real, text, list };

/// One option: the same on the command line (`--name value`), as `name=value` and as a TOML key.
struct Option {
  std::string name;
  std::string short_name;  ///< one letter or empty
  std::string group;       ///< heading in the help
  std::string value;       ///< "N", "FILE"; empty for a flag
  std::string help;
  std::string range;  ///< of a number: "above 0", "in [0, 1)"; may be empty
  std::string usual;  ///< the default, as TOML; may be empty
  /// Description of a default that is not a fixed value: "the optimizer's".
  std::string when_absent;
  OptionKind kind = OptionKind::text;
  char separator = ',';   ///< of a list on the command line
  bool rare = false;      ///< rare: omitted in a short help
  bool in_config = true;  ///< false: affects one call and is not part of the configuration
  /// A resumed run may change it, because its numbers do not depend on it, or, for a device, only
  /// in their last bits. For a precision they do, and the run warns.
  bool may_change = false;
  /// Parses, checks and stores. Throws UsageError that does not name the option.
  std::function<void(const std::string&)> set;
  /// The stored value as TOML; empty if nothing is set.
  std::function<std::string()> toml;
  /// Possible defaults, as TOML, of an option whose default depends on others: one if known,
  /// several if it depends on data that are not loaded yet, empty without a default. Empty for an
  /// option with a fixed default, or without one.
  std::function<std::vector<std::string>()> by_default;
  /// Makes such an option unset again.
  std::function<void()> clear;

  /// The effective value, as TOML: the stored one, or the default if known. Empty if there is
  /// neither.
  [[nodiscard]] std::string resolved() const;
  /// Whether the value that holds is the default.
  [[nodiscard]] bool is_default() const;
  /// The default as users write it; may be empty.
  [[nodiscard]] std::string default_text() const;
  /// "a share [default: 0.5]".
  [[nodiscard]] std::string help_with_default() const;
};

/// Allowed values of a number.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false;   ///< `low` itself is not allowed
  bool open_high = false;  ///< the same for `high`
};
/// "above 0", "at least 1", "in [0, 1)"; empty if everything is allowed.
[[nodiscard]] std::string to_string(const Range& range);
inline constexpr Range kAnyNumber{};
inline constexpr Range kPositive{.low = 0, .open_low = true};
inline constexpr Range kNotNegative{.low = 0};
inline constexpr Range kCount{.low = 1};
inline constexpr Range kShare{.low = 0, .high = 1, .open_high = true};         ///< [0, 1)
inline constexpr Range kPositiveShare{.low = 0, .high = 1, .open_low = true};  ///< (0, 1]

/// Parse numbers as users write them; the whole text must be one finite number. Throw UsageError.
[[nodiscard]] std::int64_t parse_integer(const std::string& text, const Range& range);
[[nodiscard]] double parse_real(const std::string& text, const Range& range);
/// A text as a TOML basic string, quoted.
[[nodiscard]] std::string toml_text(const std::string& text);
/// Texts as a TOML array; an empty text without texts.
[[nodiscard]] std::string toml_list(const std::vector<std::string>& texts);

/// A type that is constructed from a text, which may throw UsageError, and returns it as `text()`.
template <class T>
concept WrittenAsText = std::constructible_from<T, const std::string&> && requires(const T& value) {
  { value.text() } -> std::convertible_to<std::string>;
};

namespace detail {

template <class T>
struct Stored {
  using Type = T;
};
template <class T>
struct Stored<std::optional<T>> {
  using Type = T;
};

[[nodiscard]] std::string as_toml(double value);
[[nodiscard]] std::string as_toml(float value);
[[nodiscard]] std::string as_toml(std::int64_t value);
[[nodiscard]] inline std::string as_toml(int value) { return as_toml(std::int64_t{value}); }
[[nodiscard]] std::string as_toml(const std::string& text);
[[nodiscard]] std::string as_toml(const std::filesystem::path& path);
template <WrittenAsText T>
[[nodiscard]] std::string as_toml(const T& value) {
  return as_toml(value.text());
}
template <class T>
[[nodiscard]] std::string as_toml(const std::optional<T>& field) {
  return field ? as_toml(*field) : std::string();
}

}  // namespace detail

/// The type of a field: T for a T, and for a std::optional<T>, which is set only if the option is
/// given.
template <class Field>
using Stored = typename detail::Stored<Field>::Type;

template <class Field>
concept NumberField = std::same_as < Stored<Field>,
int > || std::same_as<Stored<Field>, std::int64_t> || std::same_as<Stored<Field>, float> ||
    std::same_as<Stored<Field>, double>;
template <class Field>
concept TextField = std::same_as<Stored<Field>, std::string> ||
    std::same_as<Stored<Field>, std::filesystem::path> || WrittenAsText<Stored<Field>>;

/// An option's name and the text it is set to.
using OptionValues = std::vector<std::pair<std::string, std::string>>;

/// The options of a command or of a registered thing, each bound to a field that outlives the
/// table. Values of the fields at this moment are the defaults the help shows.
class OptionTable {
 public:
  /// Puts options that are added later under this heading.
  void group(std::string heading) { group_ = std::move(heading); }

  // Each throws std::logic_error for a name that is taken.

  Option& flag(const std::string& name, bool& field, std::string help);
  template <NumberField Field>
  Option& number(
      const std::string& name, Field& field, Range range, std::string value, std::string help);
  template <TextField Field>
  Option& text(const std::string& name, Field& field, std::string value, std::string help);
  /// One of `known`.
  Option& choice(const std::string& name,
                 std::string& field,
                 const std::vector<std::string>& known,
                 std::string help);
  /// One of `known`, pairs of a name and a value.
  template <class T>
  Option& choice(const std::string& name,
                 T& field,
                 const std::vector<std::pair<std::string, std::type_identity_t<T>>>& known,
                 std::string help);
  /// Texts, separated by `separator` on the command line.
  Option& list(const std::string& name,
               std::vector<std::string>& field,
               char separator,
               std::string value,
               std::string help);
  /// Numbers, separated by ':' or ','.
  Option& numbers(const std::string& name,
                  std::vector<double>& field,
                  Range range,
                  std::string value,
                  std::string help);

  /// Marks an option that affects one call and is not a key of a configuration file.
  void keep_out_of_config(std::string_view name);

  /// Marks rare options, which a short help omits. Throws std::logic_error for an unknown name.
  void mark_rare(const std::vector<std::string>& names);

  /// These options and those of another table. Throws std::logic_error for a name that both have.
  [[nodiscard]] OptionTable with(const OptionTable& more) const;
  /// A copy without these options, bound to the same fields. Throws std::logic_error for an unknown
  /// name.
  [[nodiscard]] OptionTable without(const std::vector<std::string>& left_out) const;

  [[nodiscard]] const std::vector<Option>& all() const noexcept { return options_; }
  /// Null for an unknown name.
  [[nodiscard]] const Option* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  Option& add(Option option);

  std::string group_;
  std::vector<Option> options_;
};

/// The texts between separators; empty ones are left out.
[[nodiscard]] std::vector<std::string> split(std::string_view text, std::string_view separators);

template <NumberField Field>
Option& OptionTable::number(
    const std::string& name, Field& field, Range range, std::string value, std::string help) {
  using T = Stored<Field>;
  Option option{.name = name, .value = std::move(value), .help = std::move(help)};
  option.range = to_string(range);
  if constexpr (std::integral<T>) {
    option.kind = OptionKind::integer;
    if constexpr (sizeof(T) < sizeof(std::int64_t))
      range.high = std::min(range.high, static_cast<double>(std::numeric_limits<T>::max()));
    option.set = [&field, range](const std::string& text) {
      field = static_cast<T>(parse_integer(text, range));
    };
  } else {
    option.kind = OptionKind::real;
    option.set = [&field, range](const std::string& text) {
      field = static_cast<T>(parse_real(text, range));
    };
  }
  option.toml = [&field] { return detail::as_toml(field); };
  return add(std::move(option));
}

template <TextField Field>
Option& OptionTable::text(const std::string& name,
                          Field& field,
                          std::string value,
                          std::string help) {
  Option option{.name = name, .value = std::move(value), .help = std::move(help)};
  option.set = [&field](const std::string& text) { field = Stored<Field>(text); };
  option.toml = [&field] { return detail::as_toml(field); };
  return add(std::move(option));
}

template <class T>
Option& OptionTable::choice(
    const std::string& name,
    T& field,
    const std::vector<std::pair<std::string, std::type_identity_t<T>>>& known,
    std::string help) {
  std::vector<std::string> names(known.size());
  std::transform(
      known.begin(), known.end(), names.begin(), [](const auto& one) { return one.first; });
  Option option{.name = name, .value = join(names, "|"), .help = std::move(help)};
  option.set = [&field, name, names, known](const std::string& text) {
    require_known(name, text, names);
    for (const auto& [one, value] : known)
      if (one == text) field = value;
  };
  option.toml = [&field, known] {
    for (const auto& [one, value] : known)
      if (value == field) return detail::as_toml(one);
    return std::string();
  };
  return add(std::move(option));
}

}  // namespace learn
