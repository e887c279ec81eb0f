// Every access of a thread to memory, with its checks.
#include "tests/lab/cuda/fake/block.h"
#include "tests/lab/cuda/fake/stop.h"

#include <sys/mman.h>

#include <cstring>

namespace fakecuda {
namespace {

/// The cells of all device memory, touched pages only. An address has its cell at the granule of
/// the kernel that runs; phases keep kernels apart.
Cell* global_cells() {
  static Cell* const cells = [] {
    void* const p = mmap(nullptr,
                         kDeviceSpace * sizeof(Cell),
                         PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                         -1,
                         0);
    if (p == MAP_FAILED) stop("no address space for the race check");
    return static_cast<Cell*>(p);
  }();
  return cells;
}

constexpr const char* kVerb[] = {"read", "read", "write", "atomic"};

const char* verb(Access access) { return kVerb[static_cast<int>(access)]; }

}  // namespace

void Block::release_cells() const {
  constexpr std::size_t kKept = std::size_t{16} << 20U;
  constexpr std::size_t kPage = 4096;
  const auto granule = static_cast<unsigned>(kernel_.global_granule);
  for (const Range& range : ranges_) {
    if (range.begin < device_base() || range.begin >= device_base() + kDeviceSpace) continue;
    const auto begin =
        reinterpret_cast<std::uintptr_t>(global_cells() + (range.begin - device_base()) / granule);
    const std::size_t bytes = (range.end - range.begin) / granule * sizeof(Cell);
    if (bytes < kKept) continue;
    // Empty cells say "no access yet", which is all that is left to know of this launch.
    const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
    madvise(reinterpret_cast<void*>(first), (begin + bytes - first) / kPage * kPage, MADV_DONTNEED);
  }
}

Stamp Block::stamp(const Warp& warp,
                   const Instruction& instruction,
                   int lane,
                   Access access) const {
  Stamp stamp{};
  stamp.thread = static_cast<std::uint32_t>(warp.thread_of(lane)) & 1023U;
  stamp.syncs = warp.syncs[static_cast<std::size_t>(lane)] & 4095U;
  stamp.fences = warp.fences[static_cast<std::size_t>(lane)] & 127U;
  stamp.strong = access == Access::atomic || instruction.strong ? 1 : 0;
  return stamp;
}

std::byte* Block::access(const Warp& warp,
                         const Instruction& instruction,
                         int lane,
                         std::uint64_t address,
                         int bytes,
                         Access access) {
  if (address % static_cast<unsigned>(bytes) != 0)
    fault(instruction,
          warp.thread_of(lane),
          fmt::format("misaligned {} of {} bytes at address {:#x}", verb(access), bytes, address));
  Space space = instruction.space;
  if (space == Space::generic) {
    switch (address & kWindowMask) {
      case kSharedWindow:
        space = Space::shared;
        break;
      case kLocalWindow:
        space = Space::local;
        break;
      case kParamWindow:
        space = Space::param;
        break;
      default:
        space = Space::global;
    }
    address &= ~kWindowMask;
  }
  switch (space) {
    case Space::shared:
      return shared(warp, instruction, lane, address, bytes, access);
    case Space::local:
      return local(warp, instruction, lane, address, bytes);
    case Space::param:
      return argument(instruction, warp.thread_of(lane), address, bytes);
    default:
      return global(warp, instruction, lane, address, bytes, access);
  }
}

std::byte* Block::global(const Warp& warp,
                         const Instruction& instruction,
                         int lane,
                         std::uint64_t address,
                         int bytes,
                         Access access) {
  const auto n = static_cast<std::size_t>(bytes);
  auto* const p = reinterpret_cast<std::byte*>(address);
  Range& range = ranges_[instruction.index];
  if (!range.holds(address, n)) {
    range = range_of(p);
    const auto out = [&](std::string_view why) {
      fault(instruction,
            warp.thread_of(lane),
            fmt::format("global memory {} out of bounds: {}", verb(access), why));
    };
    if (range.begin == 0) out(describe(p));
    if (!range.holds(address, n))
      out(fmt::format("{} bytes at byte {} of an allocation of {}",
                      bytes,
                      address - range.begin,
                      range.end - range.begin));
  }
  if (!is_device(p)) return p;  // pinned host memory
  if (access != Access::write) kernel_.traffic.read += n;
  if (access == Access::write || access == Access::atomic) kernel_.traffic.written += n;

  auto* const written = p + written_offset();
  if (access == Access::write) {
    std::memset(written, 1, n);
  } else if (!surveying_ && !reads_leftovers() && std::memchr(written, 0, n) != nullptr) {
    fault(instruction,
          warp.thread_of(lane),
          fmt::format("{} of global memory that was not written, byte {} of {}",
                      verb(access),
                      address - range.begin,
                      range.end - range.begin));
  }

  if (surveying_) {
    footprint_.touch(address, n, access != Access::write, access >= Access::write);
    return p + kept_offset();
  }
  const auto granule = static_cast<unsigned>(kernel_.global_granule);
  Cell* cell = global_cells() + (address - device_base()) / granule;
  const Stamp me = stamp(warp, instruction, lane, access);
  for (unsigned done = 0; done < n; done += granule, ++cell) {
    if (access == Access::read_only_cache && races_.written_by_launch(*cell))
      fault(instruction,
            warp.thread_of(lane),
            "read through the read-only cache of what this kernel has written");
    const char* const collision = access == Access::write || access == Access::atomic
                                      ? races_.write<false>(*cell, me)
                                      : races_.read<false>(*cell, me);
    if (collision != nullptr)
      fault(instruction,
            warp.thread_of(lane),
            fmt::format("race on global memory: {} {}", verb(access), collision));
  }
  if (access == Access::atomic && kernel_.fences)
    races_.atomic(address, static_cast<std::uint32_t>(warp.thread_of(lane)));
  return p + kept_offset();
}

std::size_t Block::shared_offset(const Instruction& instruction,
                                 int thread,
                                 std::uint64_t address,
                                 int bytes) const {
  const auto n = static_cast<std::uint64_t>(bytes);
  if (address >= kDynamicShared && kernel_.dynamic_shared) {
    if (address - kDynamicShared + n <= shape_.dynamic_shared)
      return kernel_.shared_bytes + (address - kDynamicShared);
    fault(instruction,
          thread,
          fmt::format("shared memory out of bounds: {} bytes at byte {} of {} dynamic ones",
                      bytes,
                      address - kDynamicShared,
                      shape_.dynamic_shared));
  }
  for (const SharedVariable& variable : kernel_.shared)
    if (address >= variable.offset && address + n <= variable.offset + variable.bytes)
      return address;
  const SharedVariable* nearest = nullptr;
  for (const SharedVariable& variable : kernel_.shared)
    if (address >= variable.offset) nearest = &variable;
  if (nearest == nullptr)
    fault(instruction,
          thread,
          fmt::format("shared memory out of bounds: no variable at {}", address));
  fault(instruction,
        thread,
        fmt::format("shared memory out of bounds: {} bytes at byte {} of a variable of {}",
                    bytes,
                    address - nearest->offset,
                    nearest->bytes));
}

std::byte* Block::shared(const Warp& warp,
                         const Instruction& instruction,
                         int lane,
                         std::uint64_t address,
                         int bytes,
                         Access access) {
  const int thread = warp.thread_of(lane);
  const std::size_t at = shared_offset(instruction, thread, address, bytes);
  const auto granule = static_cast<unsigned>(kernel_.shared_granule);
  Cell* cell = shared_cells_.data() + at / granule;
  const Stamp me = stamp(warp, instruction, lane, access);
  for (int done = 0; done < bytes; done += kernel_.shared_granule, ++cell) {
    if (surveying_) break;
    if (access != Access::write && !races_.written_by_block(*cell))
      fault(instruction, thread, fmt::format("uninitialized shared memory: {}", verb(access)));
    const char* const collision = access == Access::write || access == Access::atomic
                                      ? races_.write<true>(*cell, me)
                                      : races_.read<true>(*cell, me);
    if (collision != nullptr)
      fault(instruction,
            thread,
            fmt::format("race on shared memory: {} {}", verb(access), collision));
  }
  return shared_.data() + at;
}

std::byte* Block::local(
    const Warp& warp, const Instruction& instruction, int lane, std::uint64_t address, int bytes) {
  if (address + static_cast<std::uint64_t>(bytes) > kernel_.local_bytes)
    fault(instruction,
          warp.thread_of(lane),
          fmt::format("local memory out of bounds: {} bytes at byte {} of {}",
                      bytes,
                      address,
                      kernel_.local_bytes));
  return local_.data() + kernel_.local_bytes * static_cast<std::size_t>(warp.thread_of(lane)) +
         address;
}

std::byte* Block::argument(const Instruction& instruction,
                           int thread,
                           std::uint64_t address,
                           int bytes) {
  if (address + static_cast<std::uint64_t>(bytes) > arguments_.size())
    fault(instruction,
          thread,
          fmt::format("kernel argument out of bounds: {} bytes at byte {} of {}",
                      bytes,
                      address,
                      arguments_.size()));
  return arguments_.data() + address;
}

}  // namespace fakecuda
