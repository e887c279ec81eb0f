#pragma once
#include "tests/lab/cuda/fake/nccl_types.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace fakecuda {

/// The memory that the ranks of one communicator share: an anonymous file of the process that made
/// the id, which the others open through /proc, so that nothing is left of it when processes are
/// killed. That process must live until all ranks have joined, which the real library requires,
/// too.
class NcclSegment {
 public:
  static constexpr int kMaxRanks = 16;
  /// Bytes that one collective can take from one rank.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 30U;

  static constexpr std::size_t kMaxText = 4096;

  /// A rank's part in a collective. Pages that it does not touch take no memory.
  struct Slot {
    alignas(4096) std::array<char, kMaxText> what;
    std::array<std::byte, kMaxBytes> operands;
  };
  struct Rank {
    std::atomic<int> joined;  ///< 2: completely
    std::atomic<int> closed;  ///< it posts no more collectives
    std::atomic<int> device;
    std::atomic<std::uint64_t> posted;  ///< number of its last collective, whose slot is complete
    std::array<Slot, 2> slots;

    /// The slot of a collective: valid until the rank posts the one after the next.
    [[nodiscard]] Slot& slot(std::uint64_t number) { return slots[number % 2]; }
  };

  /// Makes a segment, and an id that leads to it.
  [[nodiscard]] static nccl::UniqueId create();

  /// Joins as one of `ranks`; empty, or the obstacle. Stops if the ranks disagree.
  [[nodiscard]] std::string join(const nccl::UniqueId& id, int ranks, int rank, int device);
  /// All ranks that are expected.
  [[nodiscard]] std::span<Rank> ranks() const { return {shared_->ranks.data(), count_}; }
  [[nodiscard]] Rank& own() const { return shared_->ranks[rank_]; }
  /// Empty, or the two ranks that have the same device.
  [[nodiscard]] std::string duplicate_device() const;

 private:
  struct Shared {
    nccl::UniqueId id;
    std::atomic<int> expected;  ///< ranks
    std::array<Rank, kMaxRanks> ranks;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  std::shared_ptr<Shared> shared_;
  std::size_t count_ = 0;
  std::size_t rank_ = 0;
};

}  // namespace fakecuda
