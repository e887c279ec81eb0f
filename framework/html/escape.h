#pragma once
#include <string>
#include <string_view>

namespace learn::html {

/// Escapes a text for use between tags and in quoted attributes. Also escapes what a terminal must
/// not show (`printable`), including bytes that are not UTF-8, because names of files and classes
/// are untrusted.
[[nodiscard]] std::string escaped(std::string_view text);

/// Escapes JSON for a script element, which would end at the first "</script" in any string.
[[nodiscard]] std::string script_safe(std::string json);

/// Returns "data:image/png;base64,..." for the bytes of a file.
[[nodiscard]] std::string png_url(std::string_view png);

}  // namespace learn::html
