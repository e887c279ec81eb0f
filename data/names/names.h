#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The meaning of names of files, folders and classes, the same wherever data are read.
namespace learn::data {

/// A part of a data set, as far as a folder or a list says it.
enum class Part : std::uint8_t { unsaid, train, valid, test };

/// The part that people call so, in small or capital letters: train, training; valid, val,
/// validation, dev, eval, evaluation; test, testing; each also with "set", "data", "images" or
/// "split" after it, as in "Training_Set". `unsaid` for any other name.
[[nodiscard]] Part part_named(std::string_view name);

/// Whether folders of these names are parts rather than classes although `part_named` knows none of
/// them: each has a word that means a part ("seg_train", "test2017", "trainA"), of two parts at
/// least.
[[nodiscard]] bool look_like_parts(const std::vector<std::string>& names);

/// Whether operating systems, network drives or programs create files or folders of that name that
/// are not data: hidden ones (".DS_Store"), "__MACOSX", "@eaDir", "Thumbs.db", ...
[[nodiscard]] bool is_system_name(std::string_view name);

/// Sorts names of classes: by value if all are numbers ("2" before "10", "0.5" before "1"), else by
/// their bytes.
void sort_class_names(std::vector<std::string>& names);

/// With the ASCII letters A to Z replaced.
[[nodiscard]] std::string in_small_letters(std::string text);

}  // namespace learn::data
