// Operations of all lanes of a warp: shfl, vote, match, redux, bar.warp.sync. The last source is
// the mask.
#include "tests/lab/cuda/fake/functors.h"
#include "tests/lab/cuda/fake/ops.h"

#include <algorithm>

namespace fakecuda {
namespace {

enum Shuffle { kUp, kDown, kButterfly, kIndex };

void shuffle(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  std::uint32_t values[32];
  std::copy_n(warp.in<std::uint32_t>(instruction, 0), 32, values);
  const auto* const b = warp.in<std::uint32_t>(instruction, 1);
  const auto* const c = warp.in<std::uint32_t>(instruction, 2);
  auto* const out = warp.out<std::uint32_t>(instruction);
  std::uint32_t in_range = 0;
  for_lanes(lanes, [&](int lane) {
    // The pseudocode of the PTX manual, 9.7.9.6.
    const int segment = static_cast<int>(c[lane] >> 8U & 31U);
    const int clamp = static_cast<int>(c[lane] & 31U);
    const int by = static_cast<int>(b[lane] & 31U);
    const int highest = (lane & segment) | (clamp & ~segment);
    const int lowest = lane & segment;
    int from = 0;
    bool valid = false;
    switch (instruction.mode) {
      case kUp:
        from = lane - by;
        valid = from >= highest;
        break;
      case kDown:
        from = lane + by;
        valid = from <= highest;
        break;
      case kButterfly:
        from = lane ^ by;
        valid = from <= highest;
        break;
      default:
        from = lowest | (by & ~segment);
        valid = from <= highest;
    }
    if (!valid) from = lane;
    if ((lanes >> from & 1U) == 0)
      warp.fault(instruction, 1U << lane, "shuffle reads a lane outside the mask");
    out[lane] = values[from];
    in_range |= static_cast<std::uint32_t>(valid) << lane;
  });
  if (instruction.outs > 1) {
    std::uint32_t& predicate = warp.predicate(instruction.out[1]);
    predicate = (predicate & ~lanes) | in_range;
  }
}

Handler decode_shuffle(Decoding& d) {
  if (!d.take("sync") || d.type() != Type::b32) return nullptr;
  d.result.mode = d.take("up")     ? kUp
                  : d.take("down") ? kDown
                  : d.take("bfly") ? kButterfly
                  : d.take("idx")  ? kIndex
                                   : -1;
  if (d.result.mode < 0) return nullptr;
  std::size_t at = 0;
  d.out(at++, 4);
  if (d.has_two_destinations()) d.out_predicate(at++);
  if (d.operands() != at + 4) return nullptr;
  for (int i = 0; i < 4; ++i) d.in(at++, 4);
  return shuffle;
}

enum Vote { kBallot, kAll, kAny, kUniform };

void vote(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  std::uint32_t votes = warp.predicate(instruction.in[0]);
  if (instruction.negated) votes = ~votes;
  votes &= lanes;
  if (instruction.mode == kBallot) {
    auto* const out = warp.out<std::uint32_t>(instruction);
    for_lanes(lanes, [&](int lane) { out[lane] = votes; });
    return;
  }
  const bool result = instruction.mode == kAll   ? votes == lanes
                      : instruction.mode == kAny ? votes != 0
                                                 : votes == 0 || votes == lanes;
  std::uint32_t& out = warp.predicate(instruction.out[0]);
  out = (out & ~lanes) | (result ? lanes : 0);
}

Handler decode_vote(Decoding& d) {
  if (!d.take("sync") || d.operands() != 3) return nullptr;
  if (d.take("ballot")) {
    d.result.mode = kBallot;
    d.out(0, 4);
  } else {
    d.result.mode = d.take("all") ? kAll : d.take("any") ? kAny : d.take("uni") ? kUniform : -1;
    d.out_predicate(0);
  }
  d.in_predicate(1);
  d.in(2, 4);
  return d.result.mode >= 0 ? vote : nullptr;
}

template <class T>
void match_any(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const T* const in = warp.in<T>(instruction, 0);
  auto* const out = warp.out<std::uint32_t>(instruction);
  for_lanes(lanes, [&](int lane) {
    std::uint32_t equal = 0;
    for_lanes(lanes, [&](int other) {
      equal |= static_cast<std::uint32_t>(in[other] == in[lane]) << other;
    });
    out[lane] = equal;
  });
}

template <class T>
void match_all(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const T* const in = warp.in<T>(instruction, 0);
  bool equal = true;
  for_lanes(lanes, [&](int lane) { equal &= in[lane] == in[std::countr_zero(lanes)]; });
  auto* const out = warp.out<std::uint32_t>(instruction);
  for_lanes(lanes, [&](int lane) { out[lane] = equal ? lanes : 0; });
  if (instruction.outs > 1) {
    std::uint32_t& predicate = warp.predicate(instruction.out[1]);
    predicate = (predicate & ~lanes) | (equal ? lanes : 0);
  }
}

Handler decode_match(Decoding& d) {
  if (!d.take("sync")) return nullptr;
  const int bytes = bytes_of(d.type());
  if (bytes != 4 && bytes != 8) return nullptr;
  const bool all = d.take("all");
  if (!all && !d.take("any")) return nullptr;
  std::size_t at = 0;
  d.out(at++, 4);
  if (d.has_two_destinations()) d.out_predicate(at++);
  if (d.operands() != at + 2) return nullptr;
  d.in(at++, bytes);
  d.in(at, 4);
  if (all) return bytes == 4 ? match_all<std::uint32_t> : match_all<std::uint64_t>;
  return bytes == 4 ? match_any<std::uint32_t> : match_any<std::uint64_t>;
}

template <class T, class F>
void reduce(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const T* const in = warp.in<T>(instruction, 0);
  T* const out = warp.out<T>(instruction);
  T result = in[std::countr_zero(lanes)];
  for (std::uint32_t rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1)
    result = F{}(result, in[std::countr_zero(rest)]);
  for_lanes(lanes, [&](int lane) { out[lane] = result; });
}

template <class F>
Handler reduction(Decoding& d) {
  if (bytes_of(d.type()) != 4) return nullptr;
  return for_integer(d.type(), []<class T>() -> Handler { return reduce<T, F>; });
}

Handler decode_redux(Decoding& d) {
  if (!d.take("sync") || d.operands() != 3) return nullptr;
  d.out(0, 4);
  d.in(1, 4);
  d.in(2, 4);
  if (d.take("add")) return reduction<integer::Add>(d);
  if (d.take("min")) return reduction<integer::Min>(d);
  if (d.take("max")) return reduction<integer::Max>(d);
  if (d.take("and")) return reduction<integer::And>(d);
  if (d.take("or")) return reduction<integer::Or>(d);
  if (d.take("xor")) return reduction<integer::Xor>(d);
  return nullptr;
}

/// Orders the lanes' accesses to memory.
void synchronize(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    auto& count = warp.syncs[static_cast<std::size_t>(lane)];
    if (++count == 4096)
      warp.fault(instruction, lanes, "4096 __syncwarp between two barriers: not modelled");
  });
}

}  // namespace

Handler decode_warp(Decoding& d) {
  const std::string_view opcode = d.opcode();
  Handler handler = nullptr;
  if (opcode == "shfl") handler = decode_shuffle(d);
  if (opcode == "vote") handler = decode_vote(d);
  if (opcode == "match") handler = decode_match(d);
  if (opcode == "redux") handler = decode_redux(d);
  if (opcode == "bar" && d.take("warp") && d.take("sync")) {
    d.in(0, 4);
    handler = synchronize;
  }
  if (handler != nullptr) d.result.flow = Flow::gather;
  return handler;
}

}  // namespace fakecuda
