#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Meaning of the names of files, folders and classes, for all readers of data.
namespace learn::data {

/// A part of a data set, as named by a folder or a list.
enum class Part : std::uint8_t { unsaid, train, valid, test };

/// Returns the part that a name means, in any case: train, training; valid, val, validation, dev,
/// eval, evaluation; test, testing; each also with "set", "data", "images" or "split" after it, as
/// in "Training_Set". `unsaid` for any other name.
[[nodiscard]] Part part_named(std::string_view name);

/// Returns whether folders of these names look like parts rather than classes although `part_named`
/// recognizes none of them: each has a word that means a part ("seg_train", "test2017", "trainA"),
/// of at least two parts.
[[nodiscard]] bool look_like_parts(const std::vector<std::string>& names);

/// Returns whether files or folders of that name are created by an operating system, a network
/// drive or a program and are not data: hidden ones (".DS_Store"), "__MACOSX", "@eaDir",
/// "Thumbs.db", ...
[[nodiscard]] bool is_system_name(std::string_view name);

/// Sorts class names: by value if all are numbers ("2" before "10", "0.5" before "1"), else by
/// their bytes.
void sort_class_names(std::vector<std::string>& names);

/// Returns the text with the ASCII letters A to Z in lower case.
[[nodiscard]] std::string in_small_letters(std::string text);

}  // namespace learn::data
