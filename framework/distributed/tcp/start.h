#pragma once
#include "framework/distributed/communicator.h"
#include "framework/distributed/launcher.h"
#include "framework/distributed/tcp/channel.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace learn::tcp {

/// The time in which a process that is there answers.
inline constexpr std::chrono::seconds kAnswerTime{2};

/// The connections of a rank: rank 0 has one to each other rank, which has one to rank 0.
struct Star {
  RankPlace place;
  std::vector<std::string> hosts;                  ///< by rank
  std::vector<std::unique_ptr<Channel>> channels;  ///< by rank; null: no connection
};

/// Connects this rank with the others, and waits for all of them until the deadline; 0: for ever.
///
/// Rank 0 refuses, with a warning in the log, connections that are not from a rank of its job:
/// other programs, other versions, other numbers of ranks, a rank that is there already. They end
/// nothing.
///
/// Throws UsageError if rank 0 cannot listen at its port. Throws RanksError, on all ranks that have
/// come, if a rank does not come, and on one that rank 0 refuses.
[[nodiscard]] Star join_ranks(const Launcher& launcher, std::chrono::milliseconds deadline);

/// The greeting of a rank: the text of its first message, whose number is `greeting_number`.
[[nodiscard]] std::string greeting_text(std::string_view version,
                                        std::string_view host,
                                        std::string_view job);
[[nodiscard]] std::uint64_t greeting_number(int rank, int ranks);

/// Rank 0's part of `join_ranks`, and the other ranks'.
[[nodiscard]] Star receive_ranks(const Launcher& launcher, std::chrono::milliseconds deadline);
[[nodiscard]] Star connect_to_rank_0(const Launcher& launcher, std::chrono::milliseconds deadline);

}  // namespace learn::tcp
