#pragma once
#include <string>
#include <string_view>

namespace learn::html {

/// The text as it stands between tags and in quoted attributes. What a terminal may not show either
/// (`printable`), bytes that are not UTF-8 among it, is made visible: names of files and classes
/// come from anywhere.
[[nodiscard]] std::string escaped(std::string_view text);

/// JSON as it stands in a script element, which ends at the first "</script" in whatever it holds.
[[nodiscard]] std::string script_safe(std::string json);

/// "data:image/png;base64,..." of the bytes of a file.
[[nodiscard]] std::string png_url(std::string_view png);

}  // namespace learn::html
