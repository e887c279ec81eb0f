#include "framework/distributed/tcp/start.h"

#include <fmt/core.h>

#include <algorithm>

namespace learn::tcp {
namespace {

/// The ranks of a host are numbered by the launcher, else in the order of ranks.
void find_neighbours(const Launcher& launcher, Star& star) {
  RankPlace& place = star.place;
  const auto begin = star.hosts.begin();
  const auto here = [&](auto end) { return static_cast<int>(std::count(begin, end, place.host)); };
  place.local_ranks = here(star.hosts.end());
  place.local_rank = launcher.local_rank.value_or(here(begin + place.rank));
}

}  // namespace

std::string greeting_text(std::string_view version, std::string_view host, std::string_view job) {
  return fmt::format("{}\n{}\n{}", version, host, job);
}

std::uint64_t greeting_number(int rank, int ranks) {
  return static_cast<std::uint64_t>(ranks) << 32U | static_cast<std::uint32_t>(rank);
}

Star join_ranks(const Launcher& launcher, std::chrono::milliseconds deadline) {
  Star star = launcher.rank == 0 ? receive_ranks(launcher, deadline)
                                 : connect_to_rank_0(launcher, deadline);
  star.place = {.rank = launcher.rank,
                .ranks = launcher.ranks.value_or(1),
                .host = star.hosts[static_cast<std::size_t>(launcher.rank)]};
  find_neighbours(launcher, star);
  return star;
}

}  // namespace learn::tcp
