#pragma once
#include "framework/distributed/communicator.h"

namespace learn::testing {

/// The communicator of the ranks that run this test program.
[[nodiscard]] Communicator& world();

}  // namespace learn::testing
