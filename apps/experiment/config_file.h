#pragma once
#include "framework/core/options/option_table.h"

#include <filesystem>
#include <string>

namespace learn {

/// An option in a parsed configuration file, whose only section maps keys to texts with their
/// places.
struct ConfigEntry {
  std::string name;
  std::string text;
  unsigned line = 0;
  unsigned column = 0;
  bool by_default = false;  ///< its line ends with `# default`, the mark of `write_config`
};
struct ConfigFile {
  std::string name;  ///< for error messages
  std::string source;
  std::vector<ConfigEntry> entries;
};

/// Parses TOML: `[section]` with one key per option of `table`. Throws UsageError with
/// file:line:column, the line, and a suggestion, for invalid TOML, another section, an unknown key
/// or a value of the wrong type; IoError if the file cannot be read. `name` is for error messages.
[[nodiscard]] ConfigFile parse_config(const std::string& source,
                                      const std::string& name,
                                      const std::string& section,
                                      const OptionTable& table);
[[nodiscard]] ConfigFile read_config(const std::filesystem::path& path,
                                     const std::string& section,
                                     const OptionTable& table);

/// Sets the options. A rejected value is a UsageError with its place in the file. A value that is
/// marked as a default, and equals the default given the file's other options, leaves its option
/// unset, so that it follows the optimizer, schedule or data if these are changed later.
void set_options(const OptionTable& table, const ConfigFile& config);

/// Returns the section's values in its order, as the command line would give them. Accepts any
/// options, so that files written by other versions can be shown. Throws as `parse_config` does,
/// except for keys and types.
[[nodiscard]] std::vector<ConfigEntry> config_values(const std::string& source,
                                                     const std::string& name,
                                                     const std::string& section);
/// Reads the file and returns its values. Throws IoError too.
[[nodiscard]] std::vector<ConfigEntry> read_config_values(const std::filesystem::path& path,
                                                          const std::string& section);

/// Returns every option that is part of the configuration, with its effective value, as a file for
/// `read_config`. Default values are marked by `# default`; a default that depends on data that are
/// not loaded yet is a comment.
[[nodiscard]] std::string write_config(const OptionTable& table, const std::string& section);

}  // namespace learn
