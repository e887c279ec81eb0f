#include "tests/lab/cuda/fake/nccl_segment.h"

#include "tests/lab/cuda/fake/nccl_faults.h"
#include "tests/lab/cuda/fake/stop.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>

namespace fakecuda {

nccl::UniqueId NcclSegment::create() {
  // Open until the process ends: ranks may come at any time.
  const int file = memfd_create("fake-nccl", MFD_CLOEXEC);
  // The path of the file and a 0, then letters by which the file is recognized.
  nccl::UniqueId id{};
  const std::size_t path = fmt::format_to_n(id.bytes, 64, "/proc/{}/fd/{}", getpid(), file).size;
  std::random_device random;
  for (char& c : std::span(id.bytes).subspan(path + 1)) c = static_cast<char>('a' + random() % 26);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0 ||
      pwrite(file, &id, sizeof(id), 0) != static_cast<ssize_t>(sizeof(id)))
    stop("no memory file for a communicator");
  return id;
}

std::string NcclSegment::join(const nccl::UniqueId& id, int ranks, int rank, int device) {
  if (std::memcmp(id.bytes, "/proc/", 6) != 0)
    stop("rank {}: the id was not made by ncclGetUniqueId", rank);
  const int file = open(id.bytes, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return fmt::format("the process that made the id cannot be reached: no {}", id.bytes);
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) stop("no address space for a communicator");
  shared_.reset(static_cast<Shared*>(memory), [](Shared* all) { munmap(all, sizeof(Shared)); });
  count_ = static_cast<std::size_t>(ranks);
  rank_ = static_cast<std::size_t>(rank);
  if (std::memcmp(&shared_->id, &id, sizeof(id)) != 0)
    return fmt::format("the process that made the id {} has ended", id.bytes);

  int others = 0;
  if (!shared_->expected.compare_exchange_strong(others, ranks) && others != ranks)
    stop("ncclCommInitRankConfig: rank {} expects {} ranks, another one {}", rank, ranks, others);
  if (own().joined.exchange(1) != 0)
    stop("ncclCommInitRankConfig: rank {} joins twice with one id", rank);
  own().device = nccl_fault("own_devices") ? -1 - rank : device;
  own().joined = 2;
  return {};
}

std::string NcclSegment::duplicate_device() const {
  for (std::size_t a = 0; a < count_; ++a)
    for (std::size_t b = a + 1; b < count_; ++b)
      if (const int device = ranks()[a].device; device == ranks()[b].device)
        return fmt::format(
            "Duplicate GPU detected : rank {} and rank {} both on CUDA device {}", a, b, device);
  return {};
}

}  // namespace fakecuda
