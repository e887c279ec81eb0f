#pragma once
#include "framework/distributed/communicator.h"

#include <array>
#include <span>

namespace learn::cuda {

/// The device and the NCCL of a rank, which all ranks compare.
struct RankDevice {
  std::array<char, 64> host{};      ///< its name
  std::array<char, 16> uuid{};      ///< of the device; zeros: unknown
  std::array<char, 32> bus{};       ///< "0000:17:00"
  std::array<char, 400> problem{};  ///< why this rank has no NCCL
  int number = 0;                   ///< of the device in its process
  int version = 0;                  ///< of NCCL
};

/// Describes this rank. Throws DeviceError for an unusable device.
[[nodiscard]] RankDevice rank_device(const RankPlace& place, int device);

/// Throws RanksError, on all ranks the same, if a rank has no NCCL or another version than rank 0,
/// and if two ranks use one device.
void check_devices(std::span<const RankDevice> all);

}  // namespace learn::cuda
