#pragma once
#include "tests/lab/cuda/fake/nccl_types.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

  /// Makes a segment, and an id that leads to it.
  [[nodiscard]] static NcclId create();

  NcclSegment() = default;
  NcclSegment(const NcclSegment&) = delete;
  NcclSegment& operator=(const NcclSegment&) = delete;
  ~NcclSegment();

  /// Joins as one of `ranks`; empty, or the obstacle. Stops if the ranks disagree.
  [[nodiscard]] std::string join(const NcclId& id, int ranks, int rank, int device);
  [[nodiscard]] bool all_joined() const;
  /// Empty, or the two ranks that have the same device.
  [[nodiscard]] std::string duplicate_device() const;

  // A rank's collectives count from 1. `post` says what its next one is; the operands must be in
  // place.
  void post(std::uint64_t number, std::string_view what);
  [[nodiscard]] bool has_posted(int rank, std::uint64_t number) const;
  [[nodiscard]] bool peers_are_ahead() const;
  [[nodiscard]] std::string_view what(int rank, std::uint64_t number) const;
  /// The operands of a rank. They stay until this rank posts its collective after the next.
  [[nodiscard]] std::byte* operands(int rank, std::uint64_t number) const;

  /// This rank posts no more collectives.
  void close();
  [[nodiscard]] bool is_closed(int rank) const;

 private:
  static constexpr std::size_t kText = 2048;
  struct Rank {
    std::atomic<int> joined;
    std::atomic<int> closed;
    std::atomic<std::uint64_t> posted;
    std::array<char, 128> device;  ///< host and number
    char what[2][kText];
  };
  struct Header {
    std::array<char, 16> cookie;
    std::atomic<int> ranks;
    std::array<Rank, kMaxRanks> rank;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  [[nodiscard]] static std::size_t bytes_for(int ranks);
  [[nodiscard]] Rank& at(int rank) const { return header_->rank[static_cast<std::size_t>(rank)]; }

  Header* header_ = nullptr;
  int ranks_ = 0;
  int rank_ = 0;
};

}  // namespace fakecuda
