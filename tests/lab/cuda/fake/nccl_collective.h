#pragma once
#include "tests/lab/cuda/fake/nccl_segment.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fakecuda {

enum class NcclCall : std::uint8_t { all_reduce, all_gather, broadcast };

/// One collective operation of one rank, as the program asked for it.
struct NcclOperation {
  NcclCall call;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  NcclType type;
  int root = -1;  ///< of a broadcast

  [[nodiscard]] std::size_t bytes() const;  ///< of `count` elements
  /// Everything in which ranks must agree, such as "ncclBroadcast of 5 f32 from rank 1".
  [[nodiscard]] std::string what() const;
};

[[nodiscard]] std::string_view name_of(NcclCall call);

/// The operations of a group, or a single one: they are executed together, as one collective.
/// Executed as `send`, then, once all ranks have sent, `receive`.
class NcclBatch {
 public:
  /// Stops for operands that are not memory of the device or overlap.
  NcclBatch(std::vector<NcclOperation> operations, int rank, int ranks);

  [[nodiscard]] const std::string& what() const { return what_; }
  [[nodiscard]] std::string_view call() const { return name_of(operations_.front().call); }

  /// Puts the operands where all ranks can read them. The memory of the results counts as never
  /// written until they are there, because other work must neither read nor write it meanwhile.
  void send(const NcclSegment& segment, std::uint64_t number) const;
  /// Computes the results. Stops if other work has touched operands or results since `send`.
  void receive(const NcclSegment& segment, std::uint64_t number) const;
  /// Leaves the results' memory as it is, to count as never written.
  void forget_results() const;

 private:
  /// A stretch of a result.
  struct Piece {
    void* to;
    std::size_t bytes;
    int from;  ///< the rank it comes from; -1: the sum of all
  };
  [[nodiscard]] bool sends(const NcclOperation& operation) const;
  /// Without stretches that are in their place already.
  [[nodiscard]] std::vector<Piece> pieces(const NcclOperation& operation) const;
  [[nodiscard]] std::string operand(const NcclOperation& operation, std::string_view which) const;
  void check_operands(const NcclOperation& operation) const;
  void check_untouched(const NcclOperation& operation, const std::byte* sent) const;
  void check_overlaps() const;

  std::vector<NcclOperation> operations_;
  int rank_;
  int ranks_;
  std::string what_;
};

}  // namespace fakecuda
