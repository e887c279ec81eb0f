#pragma once
#include "framework/distributed/communicator.h"

#include <cstddef>

namespace learn::testing {

/// Gathers `unit` bytes times its number from each rank, and returns whether all arrive in order.
[[nodiscard]] bool gathers(Communicator& ranks, std::size_t unit);

/// Sends `size` bytes of each rank to all, and returns whether they arrive.
[[nodiscard]] bool broadcasts(Communicator& ranks, std::size_t size);

}  // namespace learn::testing
