// Comparisons, selections, and logic on predicates.
#include "tests/cuda/fake/ops.h"
#include "tests/cuda/fake/rounding.h"

#include <array>
#include <cmath>

namespace fakecuda {
namespace {

/// True for a NaN of a floating type.
template <class T>
bool is_nan(T x) {
  return x != x;
}
template <class T>
T identity(T x) {
  return x;
}

// The u-forms of floats are true for NaN; lo, ls, hi, hs are the unsigned names of lt, le, gt, ge.
constexpr std::array<std::string_view, 18> kComparisons{"eq",
                                                        "ne",
                                                        "lt",
                                                        "le",
                                                        "gt",
                                                        "ge",
                                                        "equ",
                                                        "neu",
                                                        "ltu",
                                                        "leu",
                                                        "gtu",
                                                        "geu",
                                                        "num",
                                                        "nan",
                                                        "lo",
                                                        "ls",
                                                        "hi",
                                                        "hs"};

template <int comparison, class T>
bool compare(T a, T b) {
  if constexpr (comparison >= 14) return compare<comparison - 12>(a, b);
  const bool nan = is_nan(a) || is_nan(b);
  constexpr int kBase = comparison % 6;
  if constexpr (comparison == 12) return !nan;
  if constexpr (comparison == 13) return nan;
  if (nan) return comparison >= 6;
  switch (kBase) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 2:
      return a < b;
    case 3:
      return a <= b;
    case 4:
      return a > b;
    default:
      return a >= b;
  }
}

/// Instruction::mode of setp: how the comparison is joined with a third predicate.
enum Join { kNone, kAnd, kOr, kXor };

template <int comparison, class Stored, auto load>
void set_predicate(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const Stored* const a = warp.in<Stored>(instruction, 0);
  const Stored* const b = warp.in<Stored>(instruction, 1);
  std::uint32_t result = 0;
  for_lanes(lanes, [&](int lane) {
    result |= static_cast<std::uint32_t>(compare<comparison>(load(a[lane]), load(b[lane]))) << lane;
  });
  std::uint32_t complement = ~result;
  if (instruction.mode != kNone) {
    std::uint32_t third = warp.predicate(instruction.in[2]);
    if (instruction.negated) third = ~third;
    const auto join = [&](std::uint32_t x) {
      return instruction.mode == kAnd ? x & third : instruction.mode == kOr ? x | third : x ^ third;
    };
    result = join(result);
    complement = join(complement);
  }
  const auto store = [&](std::size_t i, std::uint32_t bits) {
    std::uint32_t& out = warp.predicate(instruction.out[i]);
    out = (out & ~lanes) | (bits & lanes);
  };
  store(0, result);
  if (instruction.outs > 1) store(1, complement);
}

template <class Stored, auto load, int... comparisons>
Handler pick(int comparison, std::integer_sequence<int, comparisons...>) {
  static constexpr Handler kHandlers[] = {set_predicate<comparisons, Stored, load>...};
  return kHandlers[comparison];
}
template <class Stored, auto load>
Handler pick(int comparison) {
  return pick<Stored, load>(comparison, std::make_integer_sequence<int, 18>{});
}

float load_f16(std::uint16_t x) { return f16_to_float(x); }
float load_bf16(std::uint16_t x) { return bf16_to_float(x); }
float load_flushed(float x) { return flush(x); }

Handler set_predicate_handler(Type type, int comparison, bool flushed) {
  if (type == Type::f32)
    return flushed ? pick<float, load_flushed>(comparison)
                   : pick<float, identity<float>>(comparison);
  if (flushed) return nullptr;
  if (type == Type::f64) return pick<double, identity<double>>(comparison);
  if (type == Type::f16) return pick<std::uint16_t, load_f16>(comparison);
  if (type == Type::bf16) return pick<std::uint16_t, load_bf16>(comparison);
  return for_integer(type, [&]<class T>() -> Handler { return pick<T, identity<T>>(comparison); });
}

Handler decode_setp(Decoding& d) {
  if (d.types() != 1) return nullptr;
  int comparison = -1;
  for (std::size_t i = 0; i < kComparisons.size(); ++i)
    if (d.take(kComparisons[i])) comparison = static_cast<int>(i);
  if (comparison < 0) return nullptr;
  const bool flushed = d.take("ftz");
  d.result.mode = d.take("and") ? kAnd : d.take("or") ? kOr : d.take("xor") ? kXor : kNone;
  std::size_t at = 0;
  d.out_predicate(at++);
  if (d.has_two_destinations()) d.out_predicate(at++);
  const std::size_t sources = d.result.mode == kNone ? 2 : 3;
  if (d.operands() != at + sources) return nullptr;
  const int bytes = bytes_of(d.type());
  d.in(at++, bytes);
  d.in(at++, bytes);
  if (d.result.mode != kNone) d.in_predicate(at);
  return set_predicate_handler(d.type(), comparison, flushed);
}

template <class T>
void select(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const T* const a = warp.in<T>(instruction, 0);
  const T* const b = warp.in<T>(instruction, 1);
  T* const out = warp.out<T>(instruction);
  const std::uint32_t choice = warp.predicate(instruction.in[2]);
  for_lanes(lanes, [&](int lane) { out[lane] = (choice >> lane & 1U) != 0 ? a[lane] : b[lane]; });
}

Handler decode_selp(Decoding& d) {
  const int bytes = bytes_of(d.type());
  if (d.operands() != 4 || d.types() != 1) return nullptr;
  d.out(0, bytes);
  d.in(1, bytes);
  d.in(2, bytes);
  d.in_predicate(3);
  if (d.result.negated) return nullptr;
  return bytes == 2   ? select<std::uint16_t>
         : bytes == 4 ? select<std::uint32_t>
         : bytes == 8 ? select<std::uint64_t>
                      : nullptr;
}

enum Logic { kLogicMove, kLogicNot, kLogicAnd, kLogicOr, kLogicXor };

void predicate_logic(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const std::uint32_t a = warp.predicate(instruction.in[0]);
  const std::uint32_t b = instruction.ins > 1 ? warp.predicate(instruction.in[1]) : 0;
  std::uint32_t result = 0;
  switch (instruction.mode) {
    case kLogicMove:
      result = a;
      break;
    case kLogicNot:
      result = ~a;
      break;
    case kLogicAnd:
      result = a & b;
      break;
    case kLogicOr:
      result = a | b;
      break;
    default:
      result = a ^ b;
  }
  std::uint32_t& out = warp.predicate(instruction.out[0]);
  out = (out & ~lanes) | (result & lanes);
}

/// mov.pred %p, 0 or -1: a constant plane's first word serves as the mask.
void predicate_constant(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const std::uint32_t result = *warp.in<std::uint32_t>(instruction, 0) != 0 ? ~0U : 0U;
  std::uint32_t& out = warp.predicate(instruction.out[0]);
  out = (out & ~lanes) | (result & lanes);
}

Handler decode_predicate(Decoding& d) {
  const std::string_view opcode = d.opcode();
  const int mode = opcode == "mov"   ? kLogicMove
                   : opcode == "not" ? kLogicNot
                   : opcode == "and" ? kLogicAnd
                   : opcode == "or"  ? kLogicOr
                   : opcode == "xor" ? kLogicXor
                                     : -1;
  if (mode < 0) return nullptr;
  d.result.mode = mode;
  d.out_predicate(0);
  if (mode == kLogicMove && d.width(d.operand(1)) == 0) {
    d.in(1, 4);
    return predicate_constant;
  }
  const std::size_t sources = mode <= kLogicNot ? 1 : 2;
  if (d.operands() != sources + 1) return nullptr;
  for (std::size_t i = 1; i <= sources; ++i) d.in_predicate(i);
  return d.result.negated ? nullptr : predicate_logic;
}

}  // namespace

Handler decode_compare(Decoding& d) {
  if (d.opcode() == "setp") return decode_setp(d);
  if (d.opcode() == "selp") return decode_selp(d);
  if (d.type() == Type::pred && d.types() == 1) return decode_predicate(d);
  return nullptr;
}

}  // namespace fakecuda
