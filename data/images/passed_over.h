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
  std::string kind;  ///< for counts: its extension in lower case, or the reason
  /// Whether an image may be lost, judged by the extension, the first bytes or the kind.
  bool may_be_image = true;
};

/// The kind of an image that is next to the class folders instead of in one.
inline constexpr const char* kOutsideOfClasses = "outside of class folders";

/// Returns why the file at `path` is not taken for an image, or nothing if it is. The extension
/// decides (`has_image_name`), or, for none or only digits, the first bytes, which `start` returns.
/// `name` returns its name for messages.
[[nodiscard]] std::optional<PassedOver> why_passed_over(
    const std::string& path,
    FunctionRef<std::string()> name,
    FunctionRef<std::vector<std::uint8_t>()> start);

/// Counts the files of each kind.
[[nodiscard]] std::map<std::string, std::int64_t> kinds_of(const std::vector<PassedOver>& files);

/// Returns "5 files: 3 .gif, 2 .txt", the most frequent kind first.
[[nodiscard]] std::string passed_over_text(const std::vector<PassedOver>& files);

/// Reports the files in the log, as a warning if images may be lost. Logs nothing if all of them
/// are notes directly in the folder of the data set, `where`, such as a README or a table.
void log_passed_over(const std::vector<PassedOver>& files, const std::string& where);

}  // namespace learn::data
