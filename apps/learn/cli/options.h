#pragma once
#include "framework/core/options/option_table.h"

#include <string>
#include <string_view>
#include <vector>

namespace learn::cli {

/// One thing that is chosen by name.
struct Choice {
  std::string kind;  ///< "callback"
  std::string name;
  std::string help;
  OptionTable options;  ///< to be read, not set
};

/// All of them, by kind.
[[nodiscard]] std::vector<Choice> choices();

/// The kind whose names an option of a command takes: "callback" for "callbacks"; empty if it takes
/// none.
[[nodiscard]] std::string_view kind_of_option(std::string_view option);

/// Returns the arguments of `options`: kinds and names.
[[nodiscard]] std::vector<std::string> choice_names();

/// Whether `options` takes the name.
[[nodiscard]] bool is_choice(const std::string& name);

/// `learn options [NAME]`: what can be chosen by name, with its options: all of it, one kind
/// ("callback" or "callbacks") or one name. Throws UsageError for a name that there is not.
int options(const std::string& name);

}  // namespace learn::cli
