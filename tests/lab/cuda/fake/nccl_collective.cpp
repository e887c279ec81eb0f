#include "tests/lab/cuda/fake/nccl_collective.h"

#include "tests/lab/cuda/fake/dense_tensor.h"
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/survey.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace fakecuda {
namespace {

/// A type of elements.
struct NcclElement {
  std::string_view name;  ///< "f32"
  std::size_t bytes;
  /// Writes the sums of `count` elements of each operand: in the order of the ranks, so that all
  /// have equal bits; f16 and bf16 in f32 and rounded once. The real library adds in another order,
  /// and may round halves after each addition.
  void (*sum)(std::byte* result, const std::vector<const std::byte*>& operands, std::size_t count);
};

template <class T, class Sum>
void sum_as(std::byte* result, const std::vector<const std::byte*>& operands, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = [&](std::size_t rank) {
      return static_cast<Sum>(reinterpret_cast<const T*>(operands[rank])[i]);
    };
    Sum total = value(0);
    for (std::size_t r = 1; r < operands.size(); ++r) total = static_cast<Sum>(total + value(r));
    reinterpret_cast<T*>(result)[i] = static_cast<T>(total);
  }
}

/// `Sum` is the type that is added in.
template <class T, class Sum = T>
NcclElement element(std::string_view name) {
  return {.name = name, .bytes = sizeof(T), .sum = sum_as<T, Sum>};
}

const NcclElement& element_of(NcclType type) {
  static const auto& all =
      *new std::map<NcclType, NcclElement>{{kNcclU8, element<std::uint8_t>("u8")},
                                           {kNcclF16, element<__half, float>("f16")},
                                           {kNcclF32, element<float>("f32")},
                                           {kNcclF64, element<double>("f64")},
                                           {kNcclBf16, element<__nv_bfloat16, float>("bf16")}};
  const auto found = all.find(type);
  if (found == all.end()) stop("NCCL: data type {} is not modelled", static_cast<int>(type));
  return found->second;
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto* x = static_cast<const char*>(a);
  const auto* y = static_cast<const char*>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

/// Whether bytes are known to be written or not.
bool tracks_writes() { return !unwritten_libraries() && !surveying(); }

void check_buffer(const void* p, std::size_t bytes, std::size_t width, const std::string& name) {
  if (bytes == 0) return;
  if (p == nullptr) stop("{} is null", name);
  check_range(p, bytes, name);
  check_alignment(p, static_cast<std::int64_t>(width), name);
}

}  // namespace

std::string NcclOperation::what() const {
  const std::string text = fmt::format("{} of {} {}", call, count, element_of(type).name);
  return from < 0 ? text : fmt::format("{} from rank {}", text, from);
}

NcclBatch::NcclBatch(const std::vector<NcclOperation>& operations, int rank, int ranks)
    : rank_(rank) {
  for (const NcclOperation& operation : operations) add(operation, ranks);
  if (operations.size() > 1) what_ = fmt::format("a group of {}", what_);
  if (what_.size() >= NcclSegment::kMaxText)
    stop("NCCL: so large a group is not modelled: {}", what_);
  check_overlaps();
}

std::string NcclBatch::Part::buffer(std::string_view which) const {
  return fmt::format("{}: {} buffer", name, which);
}

void NcclBatch::add(const NcclOperation& operation, int ranks) {
  const bool gathers = operation.from == NcclOperation::kEachRank;
  const std::size_t width = element_of(operation.type).bytes;
  const std::size_t bytes = operation.count * width;
  Part part{.operation = operation,
            .name = fmt::format("rank {}: {}", rank_, operation.what()),
            .at = bytes_,
            .bytes = operation.from < 0 || operation.from == rank_ ? bytes : 0};
  for (int r = 0; r < (gathers ? ranks : 1); ++r)
    part.pieces.push_back({static_cast<std::byte*>(operation.receive) + part.pieces.size() * bytes,
                           bytes,
                           gathers ? r : operation.from});
  check_buffer(operation.send, part.bytes, width, part.buffer("send"));
  check_buffer(operation.receive, part.pieces.size() * bytes, width, part.buffer("receive"));
  std::erase_if(part.pieces, [&](const Piece& piece) {
    return bytes == 0 || (piece.from == rank_ && piece.to == operation.send);
  });
  bytes_ += (bytes + 15) / 16 * 16;
  if (bytes_ > NcclSegment::kMaxBytes)
    stop("NCCL: {} bytes in one collective are not modelled", bytes_);
  what_ += (what_.empty() ? "" : ", ") + operation.what();
  parts_.push_back(std::move(part));
}

void NcclBatch::check_overlaps() const {
  for (const Part& a : parts_)
    for (const Part& b : parts_)
      for (const Piece& piece : a.pieces) {
        const bool sent = overlap(piece.to, piece.bytes, b.operation.send, b.bytes);
        if (&a == &b) {
          const bool sum_in_place = piece.from < 0 && piece.to == a.operation.send;
          if (sent && !sum_in_place)
            stop("{} overlaps the receive buffer, but is not in place", a.buffer("send"));
          continue;
        }
        bool received = false;
        for (const Piece& other : b.pieces)
          received |= overlap(piece.to, piece.bytes, other.to, other.bytes);
        if (sent || received)
          stop("{} overlaps the {} buffer of {} in the same group",
               a.buffer("receive"),
               sent ? "send" : "receive",
               b.operation.what());
      }
}

const std::byte* NcclBatch::Part::sent(bool all_written) const {
  return static_cast<const std::byte*>(
      read_view(operation.send, bytes, buffer("send"), all_written));
}

void NcclBatch::send(NcclSegment::Slot& own) const {
  for (const Part& part : parts_)
    std::copy_n(part.sent(tracks_writes()), part.bytes, own.operands.data() + part.at);
  std::memcpy(own.what.data(), what_.c_str(), what_.size() + 1);
  forget_results();
}

void NcclBatch::forget_results() const {
  for (const Part& part : parts_)
    for (const Piece& piece : part.pieces) forget_written(piece.to, piece.bytes);
}

void NcclBatch::check_untouched(const Part& part, const std::byte* sent) const {
  const auto check = [&](bool untouched, std::string_view which) {
    if (!untouched)
      stop("{} is written by other work while the collective runs", part.buffer(which));
  };
  check(std::equal(sent, sent + part.bytes, part.sent(false)), "send");
  for (const Piece& piece : part.pieces) check(!any_written(piece.to, piece.bytes), "receive");
}

void NcclBatch::receive(std::span<NcclSegment::Rank> ranks, std::uint64_t number) const {
  for (const Part& part : parts_) {
    std::vector<const std::byte*> operands;
    for (NcclSegment::Rank& rank : ranks)
      operands.push_back(rank.slot(number).operands.data() + part.at);
    if (tracks_writes()) check_untouched(part, operands[static_cast<std::size_t>(rank_)]);
    for (const Piece& piece : part.pieces) {
      auto* const to =
          static_cast<std::byte*>(write_view(piece.to, piece.bytes, part.buffer("receive")));
      if (piece.from >= 0)
        std::memcpy(to, operands[static_cast<std::size_t>(piece.from)], piece.bytes);
      else
        element_of(part.operation.type).sum(to, operands, part.operation.count);
      if (unwritten_libraries()) forget_written(piece.to, piece.bytes);
      note_work("nccl", {.read = piece.bytes, .written = piece.bytes});
    }
  }
}

}  // namespace fakecuda
