#pragma once
#include "framework/distributed/communicator.h"

#include <chrono>
#include <memory>
#include <string>

namespace learn {

class Context;

/// The communicator of ranks that compute on GPUs: `host`'s ranks, whose tensors are exchanged by
/// NCCL. All ranks call this together. Host memory, and what is compared before communication,
/// goes through `host`, which must outlive the result. So must `ctx`; captured work with calls of
/// the result must be destroyed before it.
///
/// The calling thread never waits for a sum, but each of its later waits for the device does. From
/// the first call on, every wait for the device of `ctx` ends after `deadline` (0: never), or as
/// soon as NCCL reports an error, with a RanksError that names the rank, its purpose and ranks that
/// do not answer. Answers may take the deadline of `host` and 2 s in addition. All later waits for
/// the device throw the same error, because memory may hold incomplete sums. While the thread that
/// calls `host` waits for the device, `host` may notice that a rank is lost, which ends the wait.
///
/// The destructor waits for the other ranks, `deadline` at most, but not while an error propagates.
///
/// Throws DeviceError for a `ctx` on the CPU; RanksError, on all ranks, if one has no NCCL or
/// another version, if two use one device, and if NCCL fails.
[[nodiscard]] std::unique_ptr<Communicator> device_communicator(Communicator& host,
                                                                Context& ctx,
                                                                std::chrono::milliseconds deadline);

/// The NCCL that `device_communicator` would use.
struct NcclReport {
  std::string version = {};  ///< "2.32.3"; empty if it cannot be used
  std::string file = {};     ///< where it was loaded from
  std::string reason = {};   ///< why it cannot be used, and what to install
};

/// Loads NCCL. Never throws.
[[nodiscard]] NcclReport nccl_report();

}  // namespace learn
