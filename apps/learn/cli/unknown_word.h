#pragma once
#include "apps/learn/cli/command_line.h"

#include <string>
#include <string_view>
#include <vector>

namespace learn::cli {

/// Whether "--name" or "--no-name" is an option of the table or of all commands.
[[nodiscard]] bool names_option(std::string_view word, const OptionTable& options);

/// What other tools call something that is here, and the words for it here: "--weight-decay X",
/// "learn eval RUN". Empty if the word is none of theirs.
[[nodiscard]] std::string_view foreign_option(std::string_view name);
[[nodiscard]] std::string_view foreign_command(std::string_view name);

/// Returns what to use in place of something that other tools have and this one has not, as a
/// clause: "there is no mixup: ...". Empty if the word is none of that kind.
[[nodiscard]] std::string_view absent_feature(std::string_view name);

/// What may be meant by a word that is neither a command nor a topic, as the end of a message.
[[nodiscard]] std::string topic_hint(const std::string& word,
                                     const std::vector<std::string>& known);

// Each throws UsageError that says what may be meant: what is begun or misspelt, what another
// command has, what another tool calls so; never the word itself.

/// `words`: the first where a command should be, and those behind it.
[[noreturn]] void reject_command(const std::vector<std::string>& words,
                                 const std::vector<Command>& commands);
/// A word that is neither an option of this command nor an argument. `program` is what the user
/// called: "learn train".
[[noreturn]] void reject_option(const std::string& word,
                                const std::string& program,
                                const OptionTable& options,
                                const std::vector<Command>& commands = {});

}  // namespace learn::cli
