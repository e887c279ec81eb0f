#include "tests/lab/cuda/fake/device_memory.h"

#include "tests/lab/cuda/fake/stop.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

namespace fakecuda {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kCapacity = std::size_t{8} << 30U;
constexpr std::size_t kRedZone = 1024;

std::size_t page_up(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Begin -> end of allocations.
class Ranges {
 public:
  void add(const void* p, std::size_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    ends_[at] = at + bytes;
  }
  /// The last range that starts before `p` or at it.
  [[nodiscard]] Range before(const void* p) const {
    const auto next = ends_.upper_bound(reinterpret_cast<std::uintptr_t>(p));
    if (next == ends_.begin()) return {};
    const auto found = std::prev(next);
    return {found->first, found->second};
  }
  [[nodiscard]] Range holding(const void* p) const {
    const Range range = before(p);
    return range.holds(reinterpret_cast<std::uintptr_t>(p), 1) ? range : Range{};
  }
  /// Removes and returns the range that starts at `p`; empty if there is none.
  Range take(const void* p) {
    const auto found = ends_.find(reinterpret_cast<std::uintptr_t>(p));
    if (found == ends_.end()) return {};
    const Range range{found->first, found->second};
    ends_.erase(found);
    return range;
  }
  [[nodiscard]] std::size_t count() const { return ends_.size(); }

 private:
  std::map<std::uintptr_t, std::uintptr_t> ends_;
};

class Device {
 public:
  Device() {
    const int file = memfd_create("fake-device", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(kDeviceSpace)) != 0)
      stop("no memory file for the device");
    base_ = map(PROT_NONE, file);
    kept_ = map(PROT_READ | PROT_WRITE, file);
    written_ = map(PROT_READ | PROT_WRITE, -1);
    close(file);
    top_ = base_ + kPage;
  }

  void* allocate(std::size_t bytes) {
    if (used_ + bytes > kCapacity) return nullptr;
    // An address aligned to 256 bytes and not to 512, because no more is guaranteed.
    char* const p = top_ + 256;
    top_ += page_up(256 + bytes + kRedZone);
    if (top_ > base_ + kDeviceSpace) stop("the address space of the device is used up");
    live_.add(p, bytes);
    used_ += bytes;
    return p;
  }
  void* allocate_for_module(std::size_t bytes) {
    void* const p = allocate(bytes);
    if (p == nullptr) stop("no device memory for {} bytes of device variables", bytes);
    ++of_modules_;
    return p;
  }
  void free(void* p) {
    const Range range = live_.take(p);
    if (range.begin == 0) stop("cudaFree({}): {}", p, describe(p));
    dead_.add(p, range.end - range.begin);
    used_ -= range.end - range.begin;
    char* const page = static_cast<char*>(p) - 256;
    const std::size_t bytes = page_up(range.end - range.begin + 256);
    madvise(page + kept_offset(), bytes, MADV_REMOVE);
    madvise(page + written_offset(), bytes, MADV_DONTNEED);
  }
  [[nodiscard]] std::string describe(const void* p) const {
    if (!holds(p)) return "host memory";
    if (dead_.holding(p).begin != 0) return "freed memory";
    const Range before = live_.before(p);
    if (before.begin == 0) return "no allocation of the device";
    return fmt::format("byte {} of an allocation of {}",
                       reinterpret_cast<std::uintptr_t>(p) - before.begin,
                       before.end - before.begin);
  }
  [[nodiscard]] bool holds(const void* p) const { return p >= base_ && p < base_ + kDeviceSpace; }
  [[nodiscard]] Range range_of(const void* p) const { return live_.holding(p); }
  [[nodiscard]] std::ptrdiff_t kept_offset() const { return kept_ - base_; }
  [[nodiscard]] std::ptrdiff_t written_offset() const { return written_ - base_; }
  [[nodiscard]] std::uintptr_t base() const { return reinterpret_cast<std::uintptr_t>(base_); }
  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::size_t blocks() const { return live_.count() - of_modules_; }

 private:
  static char* map(int protection, int file) {
    const int flags = MAP_NORESERVE | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    void* const p = mmap(nullptr, kDeviceSpace, protection, flags, file, 0);
    if (p == MAP_FAILED) stop("no address space for the device");
    return static_cast<char*>(p);
  }

  char* base_ = nullptr;
  char* kept_ = nullptr;
  char* written_ = nullptr;
  char* top_ = nullptr;
  std::size_t used_ = 0;
  std::size_t of_modules_ = 0;
  Ranges live_;
  Ranges dead_;
};

// Used by the constructors of other files and after their destructors: never destroyed.
Device& device() {
  static Device& the_device = *new Device;
  return the_device;
}
Ranges& pinned() {
  static Ranges& ranges = *new Ranges;
  return ranges;
}

char* kept(const void* p) {
  return const_cast<char*>(static_cast<const char*>(p)) + device().kept_offset();
}
char* written(const void* p) {
  return const_cast<char*>(static_cast<const char*>(p)) + device().written_offset();
}

}  // namespace

bool is_device(const void* p) { return device().holds(p); }
Range range_of(const void* p) { return is_device(p) ? device().range_of(p) : pinned().holding(p); }
std::string describe(const void* p) { return device().describe(p); }
std::size_t device_bytes_used() { return device().used(); }
std::size_t device_bytes_total() { return kCapacity; }
std::ptrdiff_t kept_offset() { return device().kept_offset(); }
std::ptrdiff_t written_offset() { return device().written_offset(); }
std::uintptr_t device_base() { return device().base(); }

void* allocate_device(std::size_t bytes) { return device().allocate(bytes); }
void* allocate_for_module(std::size_t bytes) { return device().allocate_for_module(bytes); }
void free_device(void* p) { device().free(p); }

void* allocate_pinned(std::size_t bytes) {
  void* const p = std::aligned_alloc(kPage, page_up(std::max<std::size_t>(bytes, 1)));
  if (p != nullptr) pinned().add(p, bytes);
  return p;
}
void free_pinned(void* p) {
  if (pinned().take(p).begin == 0) stop("cudaFreeHost({}): not pinned memory", p);
  std::free(p);
}
bool is_pinned(const void* p) { return pinned().holding(p).begin != 0; }

void check_leaks() {
  if (device().blocks() == 0) return;
  stop("{} device allocations ({} bytes) are left at the end of the program",
       device().blocks(),
       device().used());
}

void check_range(const void* p, std::size_t bytes, std::string_view what) {
  if (bytes == 0) return;
  const Range range = device().range_of(p);
  if (range.begin == 0) stop("{}: {} is {}", what, p, describe(p));
  if (!range.holds(reinterpret_cast<std::uintptr_t>(p), bytes))
    stop("{}: {} bytes at byte {} leave their allocation of {} bytes",
         what,
         bytes,
         reinterpret_cast<std::uintptr_t>(p) - range.begin,
         range.end - range.begin);
}

const void* read_view(const void* p, std::size_t bytes, std::string_view what, bool all_written) {
  if (bytes == 0) return nullptr;
  check_range(p, bytes, what);
  if (!all_written) return kept(p);
  if (const void* hole = std::memchr(written(p), 0, bytes))
    stop("{}: reads byte {} of {}, which was not written",
         what,
         static_cast<const char*>(hole) - written(p),
         bytes);
  return kept(p);
}

void* write_view(void* p, std::size_t bytes, std::string_view what) {
  if (bytes == 0) return nullptr;
  check_range(p, bytes, what);
  std::memset(written(p), 1, bytes);
  return kept(p);
}

bool& reads_leftovers() {
  static bool allowed = false;
  return allowed;
}

void forget_written(void* p, std::size_t bytes) { std::memset(written(p), 0, bytes); }

bool any_written(const void* p, std::size_t bytes) {
  return std::memchr(written(p), 1, bytes) != nullptr;
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  const bool from_device = is_device(from);
  const bool to_device = is_device(to);
  std::memmove(to_device ? kept(to) : to, from_device ? kept(from) : from, bytes);
  if (to_device && from_device) {
    std::memmove(written(to), written(from), bytes);
  } else if (to_device) {
    std::memset(written(to), 1, bytes);
  } else if (from_device) {
    for (std::size_t i = 0; i < bytes; ++i)
      if (written(from)[i] == 0) static_cast<char*>(to)[i] = static_cast<char>(0xFF);
  }
}

void set_bytes(void* to, int value, std::size_t bytes) {
  std::memset(kept(to), value, bytes);
  std::memset(written(to), 1, bytes);
}

}  // namespace fakecuda
