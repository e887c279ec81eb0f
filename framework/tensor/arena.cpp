#include "framework/tensor/arena.h"

#include "framework/core/error.h"
#include "framework/core/log.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace learn {
namespace {

// Slabs double from one huge page on, so that an arena for a few numbers costs little, up to a size
// at which slabs are few and little is wasted in the last.
constexpr std::size_t kFirstSlabBytes = std::size_t{2} << 20U;
constexpr std::size_t kLargeSlabBytes = std::size_t{64} << 20U;
constexpr std::size_t kGuardBytes = Arena::kAlignment;  // keeps the next block aligned
constexpr int kGuardByte = 0xA5;
constexpr int kPoisonByte = 0xFF;

std::size_t round_up(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + Arena::kAlignment - 1) / Arena::kAlignment *
         Arena::kAlignment;
}

class CpuPages final : public PageSource {
 public:
  void* allocate(std::size_t bytes) override {
    void* slab = std::aligned_alloc(kFirstSlabBytes, bytes);
    if (slab == nullptr)
      fail<OutOfMemoryError>("cannot reserve {} MiB of host memory", bytes >> 20U);
    // Without huge pages a step touches tens of thousands of pages, and page faults show in
    // profiles.
    (void)madvise(slab, bytes, MADV_HUGEPAGE);
    return slab;
  }
  void release(void* slab, std::size_t) noexcept override { std::free(slab); }
  Device device() const noexcept override { return Device::cpu(); }
};

}  // namespace

std::unique_ptr<PageSource> cpu_pages() { return std::make_unique<CpuPages>(); }

struct Arena::Impl {
  std::string name;
  std::unique_ptr<PageSource> pages;
  ArenaOptions options;
  mutable std::mutex mutex;
  bool frozen = false;
  Stats stats;
  std::vector<std::pair<std::byte*, std::size_t>> slabs;
  std::map<std::byte*, std::size_t> free_by_address;
  std::set<std::pair<std::size_t, std::byte*>> free_by_size;  // best fit, lowest address first

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    for (const auto& [slab, bytes] : slabs) pages->release(slab, bytes);
  }

  void add_free(std::byte* at, std::size_t bytes) {
    auto next = free_by_address.lower_bound(at);
    if (next != free_by_address.end() && at + bytes == next->first && !starts_slab(next->first)) {
      bytes += next->second;
      free_by_size.erase({next->second, next->first});
      next = free_by_address.erase(next);
    }
    if (next != free_by_address.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at && !starts_slab(at)) {
        at = before->first;
        free_by_size.erase({before->second, before->first});
        bytes += before->second;
        free_by_address.erase(before);
      }
    }
    free_by_address.emplace(at, bytes);
    free_by_size.emplace(bytes, at);
  }

  [[nodiscard]] bool starts_slab(const std::byte* at) const {
    return std::any_of(slabs.begin(), slabs.end(), [at](const auto& s) { return s.first == at; });
  }

  std::byte* take(std::size_t bytes) {
    auto best = free_by_size.lower_bound({bytes, nullptr});
    if (best == free_by_size.end()) {
      if (frozen)
        fail<Error>(
            "arena '{}' is frozen at {} bytes and cannot allocate {} more: a new size appeared "
            "after the warm-up",
            name,
            stats.reserved,
            bytes);
      const std::size_t unit = std::clamp(stats.reserved, kFirstSlabBytes, kLargeSlabBytes);
      const std::size_t slab_bytes = (bytes + unit - 1) / unit * unit;
      auto* slab = static_cast<std::byte*>(pages->allocate(slab_bytes));
      slabs.emplace_back(slab, slab_bytes);
      stats.reserved += slab_bytes;
      add_free(slab, slab_bytes);
      best = free_by_size.lower_bound({bytes, nullptr});
    }
    const auto [size, at] = *best;
    free_by_size.erase(best);
    free_by_address.erase(at);
    if (size > bytes) {
      free_by_address.emplace(at + bytes, size - bytes);
      free_by_size.emplace(size - bytes, at + bytes);
    }
    stats.used += bytes;
    stats.peak = std::max(stats.peak, stats.used);
    ++stats.blocks;
    return at;
  }

  Storage separate(const std::shared_ptr<Impl>& self, std::size_t asked) {
    if (frozen) fail<Error>("arena '{}' is frozen, and gives each block its own memory", name);
    const std::size_t bytes = std::max<std::size_t>(asked, 1);
    void* const block = pages->allocate(bytes);
    const std::lock_guard lock(mutex);
    stats.reserved += bytes;
    stats.used += bytes;
    stats.peak = std::max(stats.peak, stats.used);
    ++stats.blocks;
    return {static_cast<std::byte*>(block),
            asked,
            pages->device(),
            [self, block, bytes] {
              self->pages->release(block, bytes);
              const std::lock_guard relock(self->mutex);
              self->stats.reserved -= bytes;
              self->stats.used -= bytes;
              --self->stats.blocks;
            },
            pages.get()};
  }

  void check_guards(const std::byte* at, std::size_t bytes, std::size_t asked) const {
    const auto clean = [](const std::byte* from, const std::byte* to) {
      return std::all_of(from, to, [](std::byte b) { return b == std::byte{kGuardByte}; });
    };
    if (clean(at, at + kGuardBytes) && clean(at + kGuardBytes + asked, at + bytes)) return;
    // An exception from a deleter would end the program anyway, so the reason is printed first.
    log::error("[arena] {}: bytes outside a block of {} bytes were overwritten", name, asked);
    log::flush();
    std::abort();
  }

  void give_back(std::byte* at, std::size_t bytes, std::size_t asked) {
    if (options.guard) check_guards(at, bytes, asked);
    if (options.poison) std::memset(at, kPoisonByte, bytes);
    const std::lock_guard lock(mutex);
    add_free(at, bytes);
    stats.used -= bytes;
    --stats.blocks;
  }
};

Arena::Arena(std::string name, std::unique_ptr<PageSource> pages, ArenaOptions options)
    : impl_(std::make_shared<Impl>()) {
  const bool writes = options.guard || options.poison;
  check<UsageError>(!writes || pages->device().is_cpu(),
                    "arena '{}': guard and poison are for CPU memory; on {} use compute-sanitizer",
                    name,
                    pages->device());
  check<UsageError>(
      !writes || !options.exact, "arena '{}': exact cannot be combined with guard or poison", name);
  impl_->name = std::move(name);
  impl_->pages = std::move(pages);
  impl_->options = options;
}
Arena::~Arena() = default;

void PageSource::read(void* host, const void* memory, std::size_t bytes) const {
  std::memcpy(host, memory, bytes);
}

void Storage::read(void* host, std::size_t offset, std::size_t bytes) const {
  if (bytes == 0) return;
  check<Error>(
      offset + bytes <= bytes_, "bytes {} to {} are outside of {}", offset, offset + bytes, bytes_);
  if (pages_ != nullptr) return pages_->read(host, data() + offset, bytes);
  check<DeviceError>(device_.is_cpu(), "the host cannot read this memory of {}", device_);
  std::memcpy(host, data() + offset, bytes);
}

Storage Arena::allocate(std::size_t asked) {
  Impl& impl = *impl_;
  // A size near the limit would overflow to a few bytes when rounded up.
  if (asked > std::numeric_limits<std::size_t>::max() / 2)
    fail<OutOfMemoryError>("arena '{}': cannot reserve {} bytes", impl.name, asked);
  if (impl.options.exact) return impl.separate(impl_, asked);
  const std::size_t guard = impl.options.guard ? kGuardBytes : 0;
  const std::size_t bytes = round_up(asked + 2 * guard);
  std::byte* at = nullptr;
  {
    const std::lock_guard lock(impl.mutex);
    at = impl.take(bytes);
  }
  if (impl.options.poison) std::memset(at, kPoisonByte, bytes);
  if (guard != 0) {
    std::memset(at, kGuardByte, guard);
    std::memset(at + guard + asked, kGuardByte, bytes - guard - asked);
  }
  return {at + guard,
          asked,
          device(),
          [owner = impl_, at, bytes, asked] { owner->give_back(at, bytes, asked); },
          impl.pages.get()};
}

void Arena::freeze() noexcept {
  const std::lock_guard lock(impl_->mutex);
  impl_->frozen = true;
}
void Arena::thaw() noexcept {
  const std::lock_guard lock(impl_->mutex);
  impl_->frozen = false;
}
bool Arena::frozen() const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->frozen;
}
Arena::Stats Arena::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->stats;
}
const std::string& Arena::name() const noexcept { return impl_->name; }
Device Arena::device() const noexcept { return impl_->pages->device(); }

}  // namespace learn
