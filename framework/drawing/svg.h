#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace learn::plot {

/// Completes an SVG document made by Cairo. Adds `<title>` and `<desc>` with the texts, for search
/// and as a text alternative. Renumbers in order of appearance everything that Cairo numbers across
/// all drawings of a process, so that equal drawings have equal bytes.
[[nodiscard]] std::string finished_svg(std::string_view by_cairo,
                                       const std::string& title,
                                       const std::vector<std::string>& texts);

}  // namespace learn::plot
