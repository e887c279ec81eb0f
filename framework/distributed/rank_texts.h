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

/// The purpose of `Communicator::call_roll`.
inline const std::string kRollCall = "the roll call after a failure";

/// The call of a rank.
struct RankCall {
  std::string rank;  ///< "rank 1 (nodeb)"
  std::string text;  ///< "the gathering of 8 bytes, training batch 3": the call and its purpose
};

/// The error of ranks that make different calls: both, or the failure after which one of them calls
/// the roll.
[[nodiscard]] std::string difference_text(const RankCall& a, const RankCall& b);

/// "1.5 s"
[[nodiscard]] std::string seconds_text(std::chrono::milliseconds time);

}  // namespace learn
