#pragma once
#include "framework/core/function_ref.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace learn::data {

/// A file of a data set that is not read.
struct PassedOver {
  std::string file;
  std::string kind;  ///< to count by: its extension in small letters, or why it is not read
  /// Whether an image may be lost by that: by its extension, its first bytes or its kind.
  bool may_be_image = true;
};

/// The kind of an image next to the class folders instead of in one.
inline constexpr const char* kOutsideOfClasses = "outside of class folders";

/// The reason why the file at `path`, called `name` in messages, is not used as an image; empty if
/// it is used: by its extension (`has_image_name`), or, if it has none or only digits, by its first
/// bytes, which `start` gives.
[[nodiscard]] std::optional<PassedOver> why_passed_over(
    const std::filesystem::path& path,
    const std::string& name,
    FunctionRef<std::vector<std::uint8_t>()> start);

/// How many there are of each kind.
[[nodiscard]] std::map<std::string, std::int64_t> kinds_of(const std::vector<PassedOver>& files);

/// "5 files: 3 .gif, 2 .txt", the most frequent kind first.
[[nodiscard]] std::string passed_over_text(const std::vector<PassedOver>& files);

/// Says so in the log; as a warning if images may be lost, and not if all of them are notes that
/// lie right in the folder of the data set, `where`, such as a README or a table.
void log_passed_over(const std::vector<PassedOver>& files, const std::string& where);

}  // namespace learn::data
