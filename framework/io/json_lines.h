#pragma once
#include "framework/io/append_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace learn {

/// A value in a JSON object. A number that is not finite becomes null: JSON has no word for it.
using JsonValue = std::variant<std::int64_t, float, double, std::string>;
using JsonObject = std::vector<std::pair<std::string, JsonValue>>;

/// The object in one line, with its newline; numbers by their shortest digits that are read as the
/// same value.
[[nodiscard]] std::string json_line(const JsonObject& object);

/// Writes one JSON object per line (jsonlines.org). Written lines are on the disk when `lines`
/// returns.
class JsonLinesWriter {
 public:
  /// Creates the file, or appends to it. Throws IoError.
  explicit JsonLinesWriter(const std::filesystem::path& path);

  /// Throws IoError if they cannot be written.
  void lines(const std::vector<JsonObject>& objects);

 private:
  AppendFile file_;
};

/// A line of such a file.
struct JsonLine {
  std::string text;  ///< without the newline
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
};
/// Returns the lines that contain an object; ignores others, such as an incomplete one. Throws
/// IoError if the file cannot be read.
[[nodiscard]] std::vector<JsonLine> read_json_lines(const std::filesystem::path& path);

}  // namespace learn
