#include "framework/distributed/cuda/rank_devices.h"

#include "framework/core/error.h"
#include "framework/distributed/cuda/nccl_library.h"
#include "framework/runtime/cuda/api_error.h"

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace learn::cuda {
namespace {

template <std::size_t size>
void write(std::array<char, size>& to, std::string_view text) {
  (void)text.copy(to.data(), size - 1);
}

bool same_device(const RankDevice& a, const RankDevice& b) {
  // Containers of one host have different names, and parts of a GPU have one bus.
  if (a.uuid != decltype(a.uuid){} && b.uuid != decltype(b.uuid){}) return a.uuid == b.uuid;
  return a.host == b.host && a.bus == b.bus;
}

std::string name(std::size_t rank, const RankDevice& device) {
  return fmt::format("rank {} ({})", rank, device.host.data());
}

}  // namespace

RankDevice rank_device(const RankPlace& place, int device) {
  RankDevice mine{.number = device};
  write(mine.host, place.host);
  cudaDeviceProp properties{};
  check_api(cudaGetDeviceProperties(&properties, device));
  static_assert(sizeof mine.uuid == sizeof properties.uuid);
  std::memcpy(mine.uuid.data(), &properties.uuid, sizeof mine.uuid);
  write(mine.bus,
        fmt::format("{:04x}:{:02x}:{:02x}",
                    properties.pciDomainID,
                    properties.pciBusID,
                    properties.pciDeviceID));
  try {
    mine.version = nccl::api().version;
  } catch (const Error& error) {
    write(mine.problem, error.what());
  }
  return mine;
}

void check_devices(std::span<const RankDevice> all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    check<RanksError>(all[rank].version != 0,
                      "{} has no NCCL, which ranks on GPUs need: {}",
                      name(rank, all[rank]),
                      all[rank].problem.data());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    check<RanksError>(all[rank].version == all[0].version,
                      "{} has NCCL {}, but {} has {}: install one version on all hosts",
                      name(rank, all[rank]),
                      nccl::version_text(all[rank].version),
                      name(0, all[0]),
                      nccl::version_text(all[0].version));
    for (std::size_t other = 0; other < rank; ++other)
      check<RanksError>(
          !same_device(all[other], all[rank]),
          "{} and {} use one GPU, cuda:{} (bus {}): each rank needs its own. Start at "
          "most as many ranks on a host as it has GPUs, with --device "
          "cuda:LOCAL_RANK, which is the rank's number on its host",
          name(other, all[other]),
          name(rank, all[rank]),
          all[rank].number,
          all[rank].bus.data());
  }
}

}  // namespace learn::cuda
