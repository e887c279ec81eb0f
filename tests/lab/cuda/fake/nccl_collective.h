#pragma once
#include "tests/lab/cuda/fake/nccl_segment.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fakecuda {

/// One collective operation of one rank, as the program asked for it.
struct NcclOperation {
  static constexpr int kSumOfAll = -1;
  static constexpr int kEachRank = -2;

  std::string_view call;  ///< "ncclBroadcast"
  int from;               ///< the rank whose elements are received, or kSumOfAll or kEachRank
  const void* send;
  void* receive;
  std::size_t count;
  NcclType type;

  /// Everything in which ranks must agree, such as "ncclBroadcast of 5 f32 from rank 1".
  [[nodiscard]] std::string what() const;
};

/// The operations of a group, or a single one: they are executed together, as one collective.
/// Executed as `send`, then, once all ranks have sent, `receive`.
class NcclBatch {
 public:
  /// Stops for operands that are not memory of the device or overlap.
  NcclBatch(const std::vector<NcclOperation>& operations, int rank, int ranks);

  [[nodiscard]] const std::string& what() const { return what_; }

  /// Puts the text and the operands where all ranks can read them. The memory of the results counts
  /// as never written until they are there, because other work must neither read nor write it
  /// meanwhile.
  void send(NcclSegment::Slot& own) const;
  /// Computes the results from the slots of all ranks. Stops if other work has touched operands or
  /// results since `send`.
  void receive(std::span<NcclSegment::Rank> ranks, std::uint64_t number) const;
  /// Leaves the results' memory as it is, to count as never written.
  void forget_results() const;

 private:
  /// A stretch of a result.
  struct Piece {
    std::byte* to;
    std::size_t bytes;
    int from;  ///< as of an operation
  };
  /// An operation for one rank.
  struct Part {
    NcclOperation operation;
    std::string name;             ///< for reports
    std::size_t at;               ///< place in a slot
    std::size_t bytes;            ///< that this rank sends
    std::vector<Piece> pieces{};  ///< without those that are in their place already

    [[nodiscard]] std::string buffer(std::string_view which) const;
    [[nodiscard]] const std::byte* sent(bool all_written) const;
  };

  void add(const NcclOperation& operation, int ranks);
  void check_overlaps() const;
  void check_untouched(const Part& part, const std::byte* sent) const;

  int rank_;
  std::string what_;
  std::vector<Part> parts_;
  std::size_t bytes_ = 0;  ///< of all parts in a slot
};

}  // namespace fakecuda
