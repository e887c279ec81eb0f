#include "framework/io/json_text.h"

#include "framework/core/printable.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <string_view>

namespace learn {
namespace {

using Json = nlohmann::ordered_json;

Json in_utf8(const Json& value) {
  if (value.is_string()) return utf8_text(value.get_ref<const std::string&>());
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& entry : value) out.push_back(in_utf8(entry));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [name, entry] : value.items()) out[utf8_text(name)] = in_utf8(entry);
  return out;
}

}  // namespace

std::string json_text(const Json& value, int indent) {
  const std::string text = in_utf8(value).dump(indent);
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const CodePoint c = first_code_point(rest);
    out += c.steers() && c.bytes != "\n" ? fmt::format("\\u{:04x}", c.value) : std::string(c.bytes);
    rest.remove_prefix(c.bytes.size());
  }
  return out;
}

}  // namespace learn
