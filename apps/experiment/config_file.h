#pragma once
#include "framework/core/option_table.h"

#include <filesystem>
#include <string>

namespace learn {

/// A configuration file, parsed: the keys of its one section as texts, with their places.
struct ConfigEntry {
  std::string name;
  std::string text;
  unsigned line = 0;
  unsigned column = 0;
};
struct ConfigFile {
  std::string name;  ///< for error texts
  std::string source;
  std::vector<ConfigEntry> entries;
};

/// Reads TOML: `[section]` with one key per option of `table`. Throws UsageError with
/// file:line:column, the line, and a suggestion, for bad TOML, another section, an unknown key or a
/// value of the wrong type; IoError if the file cannot be read. `name` is for error texts.
[[nodiscard]] ConfigFile parse_config(const std::string& source,
                                      const std::string& name,
                                      const std::string& section,
                                      const OptionTable& table);
[[nodiscard]] ConfigFile read_config(const std::filesystem::path& path,
                                     const std::string& section,
                                     const OptionTable& table);

/// Sets the options; a refused value is a UsageError with its place in the file.
void set_options(const OptionTable& table, const ConfigFile& config);

/// What stands in the section of a file, in its order, as the command line would give it, whatever
/// options these are of: to be shown, as those of a run of another version. Throws as `read_config`
/// does, but for keys and types.
[[nodiscard]] OptionValues read_config_values(const std::filesystem::path& path,
                                              const std::string& section);

/// Every option that is part of the configuration and set, as a file that `read_config` takes back.
[[nodiscard]] std::string write_config(const OptionTable& table, const std::string& section);

}  // namespace learn
