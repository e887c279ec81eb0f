#pragma once
#include <cstdio>
#include <string_view>

/// All output to standard output and standard error, except the log's. Characters that could
/// control a terminal are escaped (printable.h).
namespace learn::console {

/// Prints a line of information, such as progress or an error. A training must not end because its
/// output cannot be written: the line is then lost, and the log file notes this once. Clears a
/// drawn line first. Never throws.
void say(std::FILE* stream, std::string_view line) noexcept;
/// Prints a line that replaces the current one; an empty text clears it.
void redraw(std::FILE* stream, std::string_view line) noexcept;
/// Clears the last drawn line, if it is still visible, so that other text can be printed.
void wipe() noexcept;

/// Drops everything that is printed, until called with false: for a process whose output another
/// process already prints.
void mute(bool on) noexcept;

/// Prints the result of a command to standard output. Throws IoError if it cannot be written
/// completely.
void print(std::string_view text);

/// Puts something in the place of closed standard streams. Otherwise the next file that is opened
/// would get the number of one, and what is printed would go into it. Called first of all.
void hold_standard_streams();

}  // namespace learn::console
