#include "framework/distributed/mpi/texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace learn::mpi {
namespace {

constexpr std::size_t kMaxNamed = 8;
constexpr std::size_t kMaxWidth = 60;

/// The characters of `text` from the first digit to the next separator.
std::string_view number_in(std::string_view text) {
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_first_of(" ,\t\n", begin) - begin);
}

}  // namespace

std::string library_name(std::string_view version) {
  for (const std::string_view name : {"Open MPI", "MPICH", "MVAPICH"}) {
    if (version.substr(0, name.size()) != name) continue;
    // The name itself may have a digit, as MVAPICH2.
    const std::size_t end = std::min(version.find_first_of(" \t", name.size()), version.size());
    const std::string_view number = number_in(version.substr(end));
    return fmt::format("{}{}{}", name, number.empty() ? "" : " ", number);
  }
  const std::string_view line = version.substr(0, version.find('\n'));
  return std::string(line.substr(0, kMaxWidth));
}

std::string ranks_text(const std::vector<int>& ranks, std::span<const std::string> hosts) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxNamed); ++i)
    text += fmt::format(
        "{}rank {} ({})", i == 0 ? "" : ", ", ranks[i], hosts[static_cast<std::size_t>(ranks[i])]);
  if (ranks.size() > kMaxNamed) text += fmt::format(" and {} more", ranks.size() - kMaxNamed);
  return text;
}

}  // namespace learn::mpi
