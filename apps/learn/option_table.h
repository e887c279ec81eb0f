#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace learn::cli {

/// How an option looks in a configuration file.
enum class OptionKind : std::uint8_t { flag, integer, real, text, list };

/// One option: the same on the command line (`--name value`), as `name=value` and as a TOML key.
struct Option {
  std::string name;
  std::string short_name;  ///< one letter or empty
  std::string group;       ///< heading in the help
  std::string value;       ///< "N", "FILE"; empty for a flag
  std::string help;        ///< ends with the default in brackets
  OptionKind kind = OptionKind::text;
  char separator = ',';   ///< of a list on the command line
  bool in_config = true;  ///< false: steers one call and is no part of the configuration
  /// Parses, checks and stores. Throws UsageError that does not name the option.
  std::function<void(const std::string&)> set;
  /// The stored value as TOML; empty if nothing is set.
  std::function<std::string()> toml;
};

/// Allowed values of a number.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false;   ///< `low` itself is not allowed
  bool open_high = false;  ///< the same for `high`
};
inline constexpr Range kPositive{0, std::numeric_limits<double>::infinity(), true, false};
inline constexpr Range kNotNegative{0, std::numeric_limits<double>::infinity(), false, false};
inline constexpr Range kShare{0, 1, false, true};  ///< [0,1)

/// The options of a command, each bound to a field that outlives the table. Values of the fields at
/// this moment are the defaults the help shows.
class OptionTable {
 public:
  /// Options added from now on stand under this heading.
  void group(std::string heading) { group_ = std::move(heading); }
  Option& flag(const std::string& name, bool& field, std::string help);
  Option& integer(const std::string& name,
                  std::int64_t& field,
                  Range range,
                  std::string value,
                  std::string help);
  Option& real(
      const std::string& name, double& field, Range range, std::string value, std::string help);
  Option& real(const std::string& name,
               std::optional<double>& field,
               Range range,
               std::string value,
               std::string help);
  Option& text(const std::string& name, std::string& field, std::string value, std::string help);
  /// One of `known`.
  Option& choice(const std::string& name,
                 std::string& field,
                 std::vector<std::string> known,
                 std::string help);
  /// Texts, separated by `separator` on the command line.
  Option& list(const std::string& name,
               std::vector<std::string>& field,
               char separator,
               std::string value,
               std::string help);
  /// Numbers, separated by ':' or ','.
  Option& numbers(const std::string& name,
                  std::vector<float>& field,
                  Range range,
                  std::string value,
                  std::string help);

  /// The option steers one call and is no key of a configuration file.
  void keep_out_of_config(std::string_view name);

  [[nodiscard]] const std::vector<Option>& all() const noexcept { return options_; }
  /// Null if there is none of that name.
  [[nodiscard]] const Option* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  Option& add(Option option);

  std::string group_;
  std::vector<Option> options_;
};

/// Numbers as users write them; all of the text must be used, and nothing but finite numbers is
/// accepted. Throw UsageError.
[[nodiscard]] std::int64_t parse_integer(const std::string& text, const Range& range);
[[nodiscard]] double parse_real(const std::string& text, const Range& range);
/// A text as a TOML basic string, quoted.
[[nodiscard]] std::string toml_text(const std::string& text);
/// The shortest number that reads back as the same.
[[nodiscard]] std::string toml_number(double value);

}  // namespace learn::cli
