#include "tests/lab/cuda/fake/nccl_segment.h"

#include "tests/lab/cuda/fake/nccl_faults.h"
#include "tests/lab/cuda/fake/stop.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

namespace fakecuda {
namespace {

constexpr std::array<char, 16> kMagic{"fake NCCL id 1"};

/// The content of an id.
struct Address {
  std::array<char, 16> magic = kMagic;
  std::array<char, 16> cookie{};
  pid_t process = 0;
  int file = -1;
};
static_assert(sizeof(Address) <= sizeof(NcclId));

std::size_t page_up(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

std::string device_name(int device, int rank) {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{}:{}{}",
                     host.data(),
                     device,
                     nccl_faults::own_devices() ? fmt::format(" of rank {}", rank) : "");
}

}  // namespace

std::size_t NcclSegment::bytes_for(int ranks) {
  return page_up(sizeof(Header)) + 2 * static_cast<std::size_t>(ranks) * kMaxBytes;
}

NcclId NcclSegment::create() {
  Address address;
  std::random_device random;
  for (char& c : address.cookie) c = static_cast<char>('a' + random() % 26);
  address.process = getpid();
  // Open until the process ends: ranks may come at any time.
  address.file = memfd_create("fake-nccl", MFD_CLOEXEC);
  // Pages that no rank touches take no memory.
  if (address.file < 0 || ftruncate(address.file, static_cast<off_t>(bytes_for(kMaxRanks))) != 0 ||
      pwrite(address.file, address.cookie.data(), address.cookie.size(), 0) !=
          static_cast<ssize_t>(address.cookie.size()))
    stop("no memory file for a communicator");
  NcclId id{};
  std::memcpy(id.bytes, &address, sizeof(address));
  return id;
}

NcclSegment::~NcclSegment() {
  if (header_ != nullptr) munmap(header_, bytes_for(ranks_));
}

std::string NcclSegment::join(const NcclId& id, int ranks, int rank, int device) {
  Address address;
  std::memcpy(static_cast<void*>(&address), id.bytes, sizeof(address));
  if (address.magic != kMagic) stop("rank {}: the id was not made by ncclGetUniqueId", rank);
  const std::string path = fmt::format("/proc/{}/fd/{}", address.process, address.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    return fmt::format("the process {} that made the id cannot be reached", address.process);
  void* const memory =
      mmap(nullptr, bytes_for(ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) stop("no address space for a communicator of {} ranks", ranks);
  header_ = static_cast<Header*>(memory);
  ranks_ = ranks;
  rank_ = rank;
  if (header_->cookie != address.cookie)
    return fmt::format("the process {} that made the id has ended", address.process);

  int others = 0;
  if (!header_->ranks.compare_exchange_strong(others, ranks) && others != ranks)
    stop("ncclCommInitRankConfig: rank {} expects {} ranks, another one {}", rank, ranks, others);
  const std::string name = device_name(device, rank);
  if (at(rank).joined.exchange(1) != 0)
    stop("ncclCommInitRankConfig: rank {} joins twice with one id", rank);
  std::copy_n(
      name.begin(), std::min(name.size(), at(rank).device.size() - 1), at(rank).device.begin());
  at(rank).joined = 2;
  return {};
}

bool NcclSegment::all_joined() const {
  for (int r = 0; r < ranks_; ++r)
    if (at(r).joined != 2) return false;
  return true;
}

std::string NcclSegment::duplicate_device() const {
  for (int a = 0; a < ranks_; ++a)
    for (int b = a + 1; b < ranks_; ++b)
      if (at(a).device == at(b).device)
        return fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {}",
                           a,
                           b,
                           at(a).device.data());
  return {};
}

void NcclSegment::post(std::uint64_t number, std::string_view what) {
  // A long text is cut, with a hash of the whole.
  std::string text(what);
  if (text.size() >= kText)
    text = fmt::format(
        "{}... (hash {:x})", what.substr(0, kText - 64), std::hash<std::string_view>{}(what));
  std::memcpy(at(rank_).what[number % 2], text.c_str(), text.size() + 1);
  at(rank_).posted = number;
}

bool NcclSegment::has_posted(int rank, std::uint64_t number) const {
  return at(rank).posted >= number;
}

bool NcclSegment::peers_are_ahead() const {
  for (int r = 0; r < ranks_; ++r)
    if (at(r).posted > at(rank_).posted) return true;
  return false;
}

std::string_view NcclSegment::what(int rank, std::uint64_t number) const {
  return at(rank).what[number % 2];
}

std::byte* NcclSegment::operands(int rank, std::uint64_t number) const {
  return reinterpret_cast<std::byte*>(header_) + page_up(sizeof(Header)) +
         (2 * static_cast<std::size_t>(rank) + number % 2) * kMaxBytes;
}

void NcclSegment::close() { at(rank_).closed = 1; }
bool NcclSegment::is_closed(int rank) const { return at(rank).closed != 0; }

}  // namespace fakecuda
