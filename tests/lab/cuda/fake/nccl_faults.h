#pragma once
#include "tests/lab/cuda/fake/nccl_types.h"

#include <chrono>
#include <cstdint>

/// Faults of networks and of other ranks, on demand. FAKE_NCCL in the environment names them,
/// separated by commas; collectives count from 1 in each communicator, and with @R a fault is one
/// of rank R only:
///   hang:K       the device never comes to collective K
///   remote:K     ncclRemoteError at collective K, which hangs until ncclCommAbort
///   timeout:K    ncclTimeout, as above
///   slow:MS      each collective starts MS milliseconds late on the device
///   system       the communicator cannot be created: ncclSystemError
///   version:V    the library reports version V (21700 is 2.17.0) and stops at calls that this
///                version does not have; their symbols exist nevertheless
///   own_devices  processes with equal device numbers have different devices
namespace fakecuda::nccl_faults {

[[nodiscard]] bool hangs(int rank, std::uint64_t collective);
/// ncclSuccess if nothing happens at this collective.
[[nodiscard]] NcclResult error_of(int rank, std::uint64_t collective);
[[nodiscard]] std::chrono::milliseconds delay(int rank);
[[nodiscard]] bool refuses_to_start(int rank);
[[nodiscard]] int version();
[[nodiscard]] bool own_devices();

}  // namespace fakecuda::nccl_faults
