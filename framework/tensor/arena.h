#pragma once
#include "framework/core/device.h"
#include "framework/tensor/storage.h"

#include <cstddef>
#include <memory>
#include <string>

namespace learn {

/// Source of an arena's large slabs: the only part that depends on the device.
class PageSource {
 public:
  virtual ~PageSource() = default;
  /// `bytes` of memory aligned to at least `Arena::kAlignment`. Throws OutOfMemoryError.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* slab, std::size_t bytes) noexcept = 0;
  /// Implements Storage::read. The default is for memory that the host can read.
  virtual void read(void* host, const void* memory, std::size_t bytes) const;
  [[nodiscard]] virtual Device device() const noexcept = 0;
};

/// Host memory in large aligned pages.
[[nodiscard]] std::unique_ptr<PageSource> cpu_pages();

/// Checks an arena can make, for tests and debugging. The first two write to the memory themselves,
/// so they are for the CPU, and for arenas that are not `exact`.
struct ArenaOptions {
  /// Adds guard bytes on both sides of each block, checked when it is freed.
  bool guard = false;
  /// Fills each new block, and each freed one, with 0xFF bytes: NaN for every floating type.
  bool poison = false;
  /// Gives each block a separate allocation of its exact size, so that memory checkers detect each
  /// access beyond a tensor. Slow, and addresses do not repeat.
  bool exact = false;
};

/// Allocates blocks of memory best-fit from slabs that it keeps. Repeating a sequence of requests
/// yields the same addresses, which captured graphs and cached plans need. Thread-safe.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 256;  ///< cuDNN and full cache lines both need it

  struct Stats {
    std::size_t reserved = 0;  ///< bytes of all slabs
    std::size_t used = 0;      ///< bytes allocated now
    std::size_t peak = 0;      ///< largest `used` so far
    std::size_t blocks = 0;    ///< blocks allocated now
  };

  /// Throws UsageError for checks that this memory does not support.
  Arena(std::string name, std::unique_ptr<PageSource> pages, ArenaOptions options = {});
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// A block of at least `bytes` (0 is allowed). Throws OutOfMemoryError when the device has no
  /// more, and Error when the arena is frozen and would have to grow. Blocks may outlive the Arena
  /// object.
  [[nodiscard]] Storage allocate(std::size_t bytes);

  /// From now on growth is an error: the warm-up must have used every size.
  void freeze() noexcept;
  void thaw() noexcept;
  [[nodiscard]] bool frozen() const noexcept;
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] Device device() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace learn
