#pragma once
#include "apps/learn/cli/command_line.h"

#include <string>
#include <string_view>
#include <vector>

namespace learn::cli {

/// Whether "--name" or "--no-name" is an option of the table or of all commands.
[[nodiscard]] bool names_option(std::string_view word, const OptionTable& options);

/// Other tools' names, and the equivalents here: "--weight-decay X", "learn eval RUN". Empty if it
/// is not such a name.
[[nodiscard]] std::string_view foreign_option(std::string_view name);
[[nodiscard]] std::string_view foreign_command(std::string_view name);

/// Returns, as a clause, what to use instead of a feature that other tools have and this one lacks.
/// Empty if the word is not such a feature.
[[nodiscard]] std::string_view absent_feature(std::string_view name);

/// Suggestion for a word that is neither a command nor a topic, as the end of a message.
[[nodiscard]] std::string topic_hint(const std::string& word,
                                     const std::vector<std::string>& known);

// Each throws UsageError with a suggestion for an abbreviated or misspelt word, an option of
// another command, or another tool's name; never the word itself.

/// `words` starts with the word in place of a command.
[[noreturn]] void reject_command(const std::vector<std::string>& words,
                                 const std::vector<Command>& commands);
/// A word that is neither an option of this command nor an argument. `program` is what the user
/// called: "learn train".
[[noreturn]] void reject_option(const std::string& word,
                                const std::string& program,
                                const OptionTable& options,
                                const std::vector<Command>& commands = {});

}  // namespace learn::cli
