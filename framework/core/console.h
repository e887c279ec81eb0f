#pragma once
#include <cstdio>
#include <string_view>

/// The one place where text leaves the program for a terminal, a pipe or a file behind them; the
/// log goes its own way to the same. What could steer a terminal is made visible (printable.h).
namespace learn::console {

/// A line that informs: of progress, of an error. A training must not end because nobody can read
/// it any more: where the stream cannot be written, the line is lost, which the log's file says
/// once. A line that was drawn makes room. Never throws.
void say(std::FILE* stream, std::string_view line) noexcept;
/// The same for a line that replaces the one the cursor is in; an empty one clears it.
void redraw(std::FILE* stream, std::string_view line) noexcept;
/// Clears the line that was drawn last, if it stands there still, for what others write.
void wipe() noexcept;

/// What a command was called for, to standard output. Throws IoError if not all of it could be
/// written.
void print(std::string_view text);

/// Puts something in the place of closed standard streams. Otherwise the next file that is opened
/// would get the number of one, and what is printed would go into it. Called first of all.
void hold_standard_streams();

}  // namespace learn::console
