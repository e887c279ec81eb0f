#include "framework/distributed/rank_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace learn {
namespace {

constexpr std::size_t kMaxNamed = 8;

}  // namespace

std::string ranks_text(const std::vector<int>& ranks, std::span<const std::string> hosts) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxNamed); ++i)
    text += fmt::format(
        "{}rank {} ({})", i == 0 ? "" : ", ", ranks[i], hosts[static_cast<std::size_t>(ranks[i])]);
  if (ranks.size() > kMaxNamed) text += fmt::format(" and {} more", ranks.size() - kMaxNamed);
  return text;
}

std::string difference_text(const RankCall& a, const RankCall& b) {
  const std::string end = fmt::format(", {}", kRollCall);
  for (const auto& [failed, other] : {std::pair(a, b), std::pair(b, a)})
    if (failed.text.ends_with(end) && !other.text.ends_with(end))
      return fmt::format("{}; {} answers, but calls {}",
                         failed.text.substr(0, failed.text.size() - end.size()),
                         other.rank,
                         other.text);
  return fmt::format(
      "ranks differ: {} calls {}; {} calls {}. All ranks must run the same program with the same "
      "options and data",
      a.rank,
      a.text,
      b.rank,
      b.text);
}

std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
}

}  // namespace learn
