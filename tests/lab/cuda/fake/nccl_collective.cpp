#include "tests/lab/cuda/fake/nccl_collective.h"

#include "tests/lab/cuda/fake/dense_tensor.h"
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/nccl_sum.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/survey.h"

#include <cstring>

namespace fakecuda {
namespace {

/// Bytes that an operand takes in a batch, where one follows another.
std::size_t padded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto* x = static_cast<const char*>(a);
  const auto* y = static_cast<const char*>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

std::byte* offset(void* p, std::size_t bytes) { return static_cast<std::byte*>(p) + bytes; }

/// Whether bytes are known to be written or not.
bool tracks_writes() { return !unwritten_libraries() && !surveying(); }

}  // namespace

std::string_view name_of(NcclCall call) {
  return call == NcclCall::all_reduce   ? "ncclAllReduce"
         : call == NcclCall::all_gather ? "ncclAllGather"
                                        : "ncclBroadcast";
}

std::size_t NcclOperation::bytes() const { return count * bytes_of(type); }

std::string NcclOperation::what() const {
  const std::string text = fmt::format("{} of {} {}", name_of(call), count, name_of(type));
  return root < 0 ? text : fmt::format("{} from rank {}", text, root);
}

NcclBatch::NcclBatch(std::vector<NcclOperation> operations, int rank, int ranks)
    : operations_(std::move(operations)), rank_(rank), ranks_(ranks) {
  std::size_t bytes = 0;
  for (const NcclOperation& operation : operations_) {
    if (!what_.empty()) what_ += ", ";
    what_ += operation.what();
    check_operands(operation);
    bytes += padded(operation.bytes());
  }
  if (operations_.size() > 1) what_ = fmt::format("a group of {}", what_);
  if (bytes > NcclSegment::kMaxBytes)
    stop("NCCL: {} bytes in one collective are not modelled, at most {}",
         bytes,
         NcclSegment::kMaxBytes);
  check_overlaps();
}

bool NcclBatch::sends(const NcclOperation& operation) const {
  return operation.call != NcclCall::broadcast || operation.root == rank_;
}

std::vector<NcclBatch::Piece> NcclBatch::pieces(const NcclOperation& operation) const {
  const std::size_t bytes = operation.bytes();
  if (bytes == 0) return {};
  if (operation.call == NcclCall::all_reduce) return {{operation.receive, bytes, -1}};
  if (operation.call == NcclCall::broadcast) {
    if (operation.root == rank_ && operation.send == operation.receive) return {};
    return {{operation.receive, bytes, operation.root}};
  }
  std::vector<Piece> all;
  for (int r = 0; r < ranks_; ++r) {
    std::byte* const to = offset(operation.receive, static_cast<std::size_t>(r) * bytes);
    if (r != rank_ || to != operation.send) all.push_back({to, bytes, r});
  }
  return all;
}

std::string NcclBatch::operand(const NcclOperation& operation, std::string_view which) const {
  return fmt::format("rank {}: {}: {} buffer", rank_, operation.what(), which);
}

void NcclBatch::check_operands(const NcclOperation& operation) const {
  const std::size_t bytes = operation.bytes();
  const auto check = [&](const void* p, std::size_t size, std::string_view which) {
    if (size == 0) return;
    if (p == nullptr) stop("{} is null", operand(operation, which));
    check_range(p, size, operand(operation, which));
    check_alignment(
        p, static_cast<std::int64_t>(bytes_of(operation.type)), operand(operation, which));
  };
  const bool gathers = operation.call == NcclCall::all_gather;
  const std::size_t received = gathers ? bytes * static_cast<std::size_t>(ranks_) : bytes;
  if (sends(operation)) check(operation.send, bytes, "send");
  check(operation.receive, received, "receive");
  if (!sends(operation)) return;
  const void* const in_place =
      gathers ? offset(operation.receive, static_cast<std::size_t>(rank_) * bytes)
              : operation.receive;
  if (operation.send != in_place && overlap(operation.send, bytes, operation.receive, received))
    stop("{} overlaps the receive buffer, but is not in place", operand(operation, "send"));
}

void NcclBatch::check_overlaps() const {
  for (const NcclOperation& a : operations_)
    for (const NcclOperation& b : operations_) {
      if (&a == &b) continue;
      for (const Piece& piece : pieces(a)) {
        if (sends(b) && overlap(piece.to, piece.bytes, b.send, b.bytes()))
          stop("{} overlaps the send buffer of {} in the same group",
               operand(a, "receive"),
               b.what());
        for (const Piece& other : pieces(b))
          if (overlap(piece.to, piece.bytes, other.to, other.bytes))
            stop("{} overlaps the receive buffer of {} in the same group",
                 operand(a, "receive"),
                 b.what());
      }
    }
}

void NcclBatch::send(const NcclSegment& segment, std::uint64_t number) const {
  std::byte* to = segment.operands(rank_, number);
  for (const NcclOperation& operation : operations_) {
    const std::size_t bytes = operation.bytes();
    if (sends(operation) && bytes > 0)
      std::memcpy(
          to, read_view(operation.send, bytes, operand(operation, "send"), tracks_writes()), bytes);
    to += padded(bytes);
  }
  forget_results();
}

void NcclBatch::forget_results() const {
  for (const NcclOperation& operation : operations_)
    for (const Piece& piece : pieces(operation)) forget_written(piece.to, piece.bytes);
}

void NcclBatch::check_untouched(const NcclOperation& operation, const std::byte* sent) const {
  const std::size_t bytes = operation.bytes();
  if (sends(operation) && bytes > 0 &&
      std::memcmp(
          read_view(operation.send, bytes, operand(operation, "send"), false), sent, bytes) != 0)
    stop("{} is written by other work while the collective runs", operand(operation, "send"));
  for (const Piece& piece : pieces(operation))
    if (any_written(piece.to, piece.bytes))
      stop("{} is written by other work while the collective runs", operand(operation, "receive"));
}

void NcclBatch::receive(const NcclSegment& segment, std::uint64_t number) const {
  std::size_t at = 0;
  for (const NcclOperation& operation : operations_) {
    if (tracks_writes()) check_untouched(operation, segment.operands(rank_, number) + at);
    at += padded(operation.bytes());
  }
  at = 0;
  for (const NcclOperation& operation : operations_) {
    for (const Piece& piece : pieces(operation)) {
      auto* const to =
          static_cast<std::byte*>(write_view(piece.to, piece.bytes, operand(operation, "receive")));
      if (piece.from >= 0) {
        std::memcpy(to, segment.operands(piece.from, number) + at, piece.bytes);
      } else {
        std::vector<const std::byte*> operands;
        operands.reserve(static_cast<std::size_t>(ranks_));
        for (int r = 0; r < ranks_; ++r) operands.push_back(segment.operands(r, number) + at);
        sum(to, operands, operation.count, operation.type);
      }
      if (unwritten_libraries()) forget_written(piece.to, piece.bytes);
      note_work("nccl", {.read = piece.bytes, .written = piece.bytes});
    }
    at += padded(operation.bytes());
  }
}

}  // namespace fakecuda
