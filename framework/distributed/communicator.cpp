#include "framework/distributed/communicator.h"

#include <fmt/core.h>

namespace learn {

std::string RankPlace::name() const { return fmt::format("rank {} ({})", rank, host); }

}  // namespace learn
