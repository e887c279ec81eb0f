#pragma once
#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace learn {

/// "rank 1 (nodeb), rank 3 (noded)" for ranks and the hosts of all; the number of the rest after
/// eight.
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks,
                                     std::span<const std::string> hosts);

/// "1.5 s"
[[nodiscard]] std::string seconds_text(std::chrono::milliseconds time);

}  // namespace learn
