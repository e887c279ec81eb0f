#pragma once
#include <nlohmann/json_fwd.hpp>

#include <string>

namespace learn {

/// The text of a JSON value; `indent` below 0: in one line. JSON is UTF-8, and names of files may
/// be any bytes: those that are not UTF-8 are written as `utf8_text` does, "\xff" in the file, so
/// that no two names become one. Control characters of a terminal are written as "\u202e".
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

}  // namespace learn
