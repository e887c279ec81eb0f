#pragma once
#include "framework/distributed/communicator.h"
#include "framework/runtime/context.h"

namespace learn::testing {

/// The communicator of the ranks that run this test program, and the device of this one.
[[nodiscard]] Communicator& world();
[[nodiscard]] Communicator& host();  ///< the same ranks, for host memory
[[nodiscard]] Context& gpu();

}  // namespace learn::testing
