#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace learn::plot {

/// Makes a document of Cairo's complete: `<title>` and `<desc>` with the texts, for search and for
/// readers that cannot see it; and what Cairo numbers through all drawings of a process is
/// numbered anew, in the order that it comes in, so that equal drawings are equal bytes.
[[nodiscard]] std::string finished_svg(std::string_view by_cairo,
                                       const std::string& title,
                                       const std::vector<std::string>& texts);

}  // namespace learn::plot
