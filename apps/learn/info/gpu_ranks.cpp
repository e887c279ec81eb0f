#include "apps/learn/info/gpu_ranks.h"

#include "framework/core/error.h"
#include "framework/runtime/device_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace learn::cli {
namespace {

/// The links of one kind are those with the same key; the best come first.
using Kind = std::pair<int, std::string>;

Kind kind_of(const CudaLink& link) {
  constexpr int kLast = 1 << 20;
  if (!link.peer_access) return {kLast, "through host memory (no peer access)"};
  return {link.rank,
          fmt::format("{} atomics, performance rank {})",
                      link.atomics ? "NVLink (peer access with" : "PCIe (peer access without",
                      link.rank)};
}

using Pairs = std::vector<std::pair<int, int>>;

/// Joins pairs that share a device. Returns the numbers of each group, ascending.
std::vector<std::vector<int>> groups_of(const Pairs& pairs) {
  std::map<int, int> group;  // device -> the first device of its group
  for (const auto& [first, second] : pairs) {
    const int a = group.try_emplace(first, first).first->second;
    const int b = group.try_emplace(second, second).first->second;
    for (auto& [device, of] : group)
      if (of == a || of == b) of = std::min(a, b);
  }
  std::map<int, std::vector<int>> members;
  for (const auto& [device, of] : group) members[of].push_back(device);
  std::vector<std::vector<int>> groups;
  groups.reserve(members.size());
  for (auto& [first, devices] : members) groups.push_back(std::move(devices));
  return groups;
}

/// "0-3" for consecutive numbers, otherwise "0+2+5".
std::string numbers_text(const std::vector<int>& devices) {
  const bool range = devices.size() > 1 &&
                     devices.back() - devices.front() + 1 == static_cast<int>(devices.size());
  if (range) return fmt::format("{}-{}", devices.front(), devices.back());
  return fmt::format("{}", fmt::join(devices, "+"));
}

/// "cuda:0-3, cuda:4-7" if each two devices of a group are a pair, otherwise all pairs.
std::string devices_text(const Pairs& pairs) {
  const std::vector<std::vector<int>> groups = groups_of(pairs);
  std::size_t within = 0;
  for (const std::vector<int>& group : groups) within += group.size() * (group.size() - 1) / 2;
  std::vector<std::string> texts;
  if (within == pairs.size())
    for (const std::vector<int>& group : groups) texts.push_back("cuda:" + numbers_text(group));
  else
    for (const auto& [first, second] : pairs)
      texts.push_back(fmt::format("cuda:{}+{}", first, second));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string gpu_ranks_text(std::size_t devices, const std::optional<Launcher>& launcher) {
  std::string text =
      devices == 1 ? "one on this host: cuda:0"
                   : fmt::format("up to {} on this host: cuda:0 to cuda:{}", devices, devices - 1);
  if (!launcher || !launcher->several() || !launcher->local_rank) return text;
  try {
    return fmt::format(
        "{}; rank {} uses {}", text, launcher->rank, choose_device("cuda", *launcher->local_rank));
  } catch (const Error& error) {
    return fmt::format("{}; rank {} has no GPU: {}", text, launcher->rank, error.what());
  }
}

std::string gpu_links_text(std::span<const CudaLink> links) {
  std::map<Kind, Pairs> kinds;
  for (const CudaLink& link : links) kinds[kind_of(link)].emplace_back(link.first, link.second);
  std::string text;
  for (const auto& [kind, pairs] : kinds) {
    if (!text.empty()) text += "; ";
    const bool others = kinds.size() > 1 && &pairs == &kinds.rbegin()->second;
    text += fmt::format("{}: {}", others ? "all others" : devices_text(pairs), kind.second);
  }
  return text;
}

}  // namespace learn::cli
