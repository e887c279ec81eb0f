// Comparisons, selections, and logic on predicates.
#include "tests/lab/cuda/fake/ops.h"
#include "tests/lab/cuda/fake/rounding.h"

#include <algorithm>
#include <array>
#include <utility>

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

/// Comparisons of one lane. Every comparison is one of these, with the operands in order or
/// swapped, and the result direct or inverted.
enum Relation { kEqual, kEqualOrNan, kLess, kLessOrEqual, kNan };

struct Comparison {
  std::string_view name;
  Relation relation;
  bool swapped = false;
  bool inverted = false;
};

// The u-forms of floats are true for NaN; lo, ls, hi, hs are the unsigned names of lt, le, gt, ge.
constexpr std::array<Comparison, 18> kComparisons{{{"eq", kEqual},
                                                   {"ne", kEqualOrNan, false, true},
                                                   {"lt", kLess},
                                                   {"le", kLessOrEqual},
                                                   {"gt", kLess, true},
                                                   {"ge", kLessOrEqual, true},
                                                   {"equ", kEqualOrNan},
                                                   {"neu", kEqual, false, true},
                                                   {"ltu", kLessOrEqual, true, true},
                                                   {"leu", kLess, true, true},
                                                   {"gtu", kLessOrEqual, false, true},
                                                   {"geu", kLess, false, true},
                                                   {"num", kNan, false, true},
                                                   {"nan", kNan},
                                                   {"lo", kLess},
                                                   {"ls", kLessOrEqual},
                                                   {"hi", kLess, true},
                                                   {"hs", kLessOrEqual, true}}};

template <Relation relation, class T>
bool holds(T a, T b) {
  switch (relation) {
    case kEqual:
      return a == b;
    case kEqualOrNan:
      return a == b || is_nan(a) || is_nan(b);
    case kLess:
      return a < b;
    case kLessOrEqual:
      return a <= b;
    case kNan:
      return is_nan(a) || is_nan(b);
  }
}

/// Instruction::mode of setp: how the comparison is joined with a third predicate, and whether it
/// is inverted before.
enum Mode { kNone, kAnd, kOr, kXor, kJoinMask = 3, kInverted = 4 };

template <Relation relation, class Stored, auto load>
void set_predicate(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const Stored* const a = warp.in<Stored>(instruction, 0);
  const Stored* const b = warp.in<Stored>(instruction, 1);
  std::uint32_t result = 0;
  for_lanes(lanes, [&](int lane) {
    result |= static_cast<std::uint32_t>(holds<relation>(load(a[lane]), load(b[lane]))) << lane;
  });
  if ((instruction.mode & kInverted) != 0) result = ~result;
  std::uint32_t complement = ~result;
  const int mode = instruction.mode & kJoinMask;
  if (mode != kNone) {
    std::uint32_t third = warp.predicate(instruction.in[2]);
    if (instruction.negated) third = ~third;
    const auto join = [&](std::uint32_t x) {
      return mode == kAnd ? x & third : mode == kOr ? x | third : x ^ third;
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

template <class Stored, auto load>
Handler pick(Relation relation) {
  switch (relation) {
    case kEqual:
      return set_predicate<kEqual, Stored, load>;
    case kEqualOrNan:
      return set_predicate<kEqualOrNan, Stored, load>;
    case kLess:
      return set_predicate<kLess, Stored, load>;
    case kLessOrEqual:
      return set_predicate<kLessOrEqual, Stored, load>;
    default:
      return set_predicate<kNan, Stored, load>;
  }
}

float load_f16(std::uint16_t x) { return f16_to_float(x); }
float load_bf16(std::uint16_t x) { return bf16_to_float(x); }
float load_flushed(float x) { return flush(x); }

Handler set_predicate_handler(Type type, Relation relation, bool flushed) {
  if (type == Type::f32)
    return flushed ? pick<float, load_flushed>(relation) : pick<float, identity<float>>(relation);
  if (flushed) return nullptr;
  if (type == Type::f64) return pick<double, identity<double>>(relation);
  if (type == Type::f16) return pick<std::uint16_t, load_f16>(relation);
  if (type == Type::bf16) return pick<std::uint16_t, load_bf16>(relation);
  return for_integer(type, [&]<class T>() -> Handler { return pick<T, identity<T>>(relation); });
}

Handler decode_setp(Decoding& d) {
  if (d.types() != 1) return nullptr;
  const auto* const comparison = std::find_if(kComparisons.begin(),
                                              kComparisons.end(),
                                              [&](const Comparison& c) { return d.take(c.name); });
  if (comparison == kComparisons.end()) return nullptr;
  const bool flushed = d.take("ftz");
  const int join = d.take("and") ? kAnd : d.take("or") ? kOr : d.take("xor") ? kXor : kNone;
  d.result.mode = join | (comparison->inverted ? kInverted : 0);
  std::size_t at = 0;
  d.out_predicate(at++);
  if (d.has_two_destinations()) d.out_predicate(at++);
  const std::size_t sources = join == kNone ? 2 : 3;
  if (d.operands() != at + sources) return nullptr;
  const int bytes = bytes_of(d.type());
  d.in(at++, bytes);
  d.in(at++, bytes);
  if (comparison->swapped) std::swap(d.result.in[0], d.result.in[1]);
  if (join != kNone) d.in_predicate(at);
  return set_predicate_handler(d.type(), comparison->relation, flushed);
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
