#include "framework/distributed/mpi/texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace learn::mpi {
namespace {

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

}  // namespace learn::mpi
