#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

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
namespace fakecuda {

/// Returns the number of the fault, 0 if it has no number; nothing unless it is one of `rank`, and
/// has the number `number` if that is not 0. Rank -1 has only the faults of every rank.
[[nodiscard]] std::optional<std::uint64_t> nccl_fault(std::string_view name,
                                                      int rank = -1,
                                                      std::uint64_t number = 0);

}  // namespace fakecuda
