#include "framework/io/json_lines.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/json_text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <sstream>

namespace learn {
namespace {

using Json = nlohmann::json;

std::string print(const JsonValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return json_text(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* small = std::get_if<float>(&value))
    return std::isfinite(*small) ? fmt::format("{}", *small) : "null";
  const double number = std::get<double>(value);
  return std::isfinite(number) ? fmt::format("{}", number) : "null";
}

}  // namespace

std::string json_line(const JsonObject& object) {
  std::string line;
  for (const auto& [name, value] : object)
    line += fmt::format("{}{}: {}", line.empty() ? "{" : ", ", json_text(name), print(value));
  return (line.empty() ? "{" : line) + "}\n";
}

JsonLinesWriter::JsonLinesWriter(const std::filesystem::path& path)
    : file_(path, AppendFile::Open::keep) {}

void JsonLinesWriter::lines(const std::vector<JsonObject>& objects) {
  std::string text;
  for (const JsonObject& object : objects) text += json_line(object);
  file_.append(text);
}

std::vector<JsonLine> read_json_lines(const std::filesystem::path& path) {
  constexpr std::size_t kMost = std::size_t{1} << 30U;
  std::istringstream in(read_text_file(path, kMost));
  std::vector<JsonLine> lines;
  for (std::string text; std::getline(in, text);) {
    const Json parsed = Json::parse(text, nullptr, false);
    if (!parsed.is_object()) continue;
    JsonLine& line = lines.emplace_back();
    line.text = text;
    for (const auto& [name, value] : parsed.items()) {
      if (value.is_number()) line.numbers[name] = value.get<double>();
      if (value.is_string()) line.texts[name] = value.get<std::string>();
    }
  }
  return lines;
}

}  // namespace learn
