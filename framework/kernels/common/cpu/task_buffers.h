#pragma once
#include "framework/core/threads/thread_pool.h"
#include "framework/tensor/arena.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace learn::cpu {

/// Scratch buffers, one per thread of a pool, each warm in a core's cache. A task borrows a buffer
/// for its duration; its result must not depend on which one it gets.
class TaskBuffers {
 public:
  /// Allocates `floats` for each buffer from `arena`.
  TaskBuffers(Arena& arena, const ThreadPool& threads, std::int64_t floats)
      : floats_((floats + 63) / 64 * 64),
        memory_(
            arena.allocate(static_cast<std::size_t>(floats_ * threads.threads()) * sizeof(float))),
        taken_(static_cast<std::size_t>(threads.threads())) {}

  class Lease {
   public:
    explicit Lease(TaskBuffers& owner) : owner_(owner), slot_(owner.take()) {}
    ~Lease() { owner_.taken_[slot_].store(false, std::memory_order_release); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    [[nodiscard]] float* data() const {
      return reinterpret_cast<float*>(owner_.memory_.data()) +
             static_cast<std::int64_t>(slot_) * owner_.floats_;
    }

   private:
    TaskBuffers& owner_;
    std::size_t slot_;
  };

 private:
  /// Returns a free buffer. One is always free because there are as many buffers as threads.
  std::size_t take() {
    for (std::size_t i = 0;; i = (i + 1) % taken_.size())
      if (!taken_[i].exchange(true, std::memory_order_acquire)) return i;
  }

  std::int64_t floats_;
  Storage memory_;
  std::vector<std::atomic<bool>> taken_;
};

/// `floats` of uninitialized memory from `arena`, freed with the object.
class FloatWorkspace {
 public:
  FloatWorkspace(Arena& arena, std::int64_t floats)
      : memory_(arena.allocate(static_cast<std::size_t>(floats) * sizeof(float))) {}
  [[nodiscard]] float* data() const { return reinterpret_cast<float*>(memory_.data()); }

 private:
  Storage memory_;
};

}  // namespace learn::cpu
