// cvt: every pair of integer and floating types, rounding, saturation, packing of pairs.
#include "tests/lab/cuda/fake/ops.h"
#include "tests/lab/cuda/fake/rounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace fakecuda {
namespace {

/// Instruction::mode: rounding in the low bits, then flags.
enum Mode {
  kRoundMask = 3,
  kToIntegral = 4,  ///< rni, rzi, rmi, rpi: round to a whole number
  kSaturated = 8,
  kFlushed = 16,
  kReluResult = 32,
};

Rounding rounding_of(int mode) { return static_cast<Rounding>(mode & kRoundMask); }

double to_whole(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest:
      return std::nearbyint(x);
    case Rounding::zero:
      return std::trunc(x);
    case Rounding::down:
      return std::floor(x);
    default:
      return std::ceil(x);
  }
}

/// A source value: an integer with its sign, or a floating number (exact in double).
struct Value {
  bool floating = false;
  bool negative = false;        ///< of the integer
  std::uint64_t magnitude = 0;  ///< of the integer
  double number = 0;
};

Value integer_value(std::uint64_t bits, Type type) {
  const int shift = 64 - 8 * bytes_of(type);
  bits = bits << shift;
  if (!is_signed(type)) return {.magnitude = bits >> shift};
  const std::int64_t value = static_cast<std::int64_t>(bits) >> shift;
  const bool negative = value < 0;
  return {.negative = negative,
          .magnitude =
              negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value)};
}

Value load_value(std::uint64_t bits, Type type, bool flushed) {
  switch (type) {
    case Type::f16:
      return {.floating = true, .number = f16_to_float(static_cast<std::uint16_t>(bits))};
    case Type::bf16:
      return {.floating = true, .number = bf16_to_float(static_cast<std::uint16_t>(bits))};
    case Type::f32: {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      return {.floating = true, .number = flushed ? flush(x) : x};
    }
    case Type::f64:
      return {.floating = true, .number = std::bit_cast<double>(bits)};
    default:
      return integer_value(bits, type);
  }
}

std::uint64_t to_integer(const Value& value, Type type, int mode) {
  const int width = 8 * bytes_of(type);
  const std::uint64_t highest = (~std::uint64_t{0} >> (64 - width)) >> (is_signed(type) ? 1 : 0);
  const std::uint64_t lowest = is_signed(type) ? highest + 1 : 0;  // magnitude of the least number
  if (!value.floating) {
    std::uint64_t magnitude = value.magnitude;
    if ((mode & kSaturated) != 0)
      magnitude = std::min(magnitude, value.negative ? lowest : highest);
    return value.negative ? 0 - magnitude : magnitude;
  }
  if (std::isnan(value.number)) return width == 64 ? std::uint64_t{1} << 63U : 0;
  const double whole = to_whole(value.number, rounding_of(mode));
  const double magnitude = std::fabs(whole);
  const std::uint64_t limit = whole < 0 ? lowest : highest;
  const std::uint64_t clamped =
      magnitude >= static_cast<double>(limit) ? limit : static_cast<std::uint64_t>(magnitude);
  return whole < 0 ? 0 - clamped : clamped;
}

std::uint32_t single_of_integer(const Value& value, Rounding rounding) {
  // 64 bits do not fit a double: round on the integer itself, ties to even.
  const double sign = value.negative ? -1.0 : 1.0;
  std::uint64_t magnitude = value.magnitude;
  const int excess = std::max(0, 64 - std::countl_zero(magnitude) - 53);
  const std::uint64_t lost = magnitude & ((std::uint64_t{1} << excess) - 1);
  magnitude = magnitude >> excess | (lost != 0 ? 1U : 0U);
  const double exact = std::ldexp(sign * static_cast<double>(magnitude), excess);
  return std::bit_cast<std::uint32_t>(static_cast<float>(round_to(exact, kSingle, rounding)));
}

std::uint64_t to_float(const Value& value, Type type, int mode) {
  const Rounding rounding = rounding_of(mode);
  if (!value.floating && type == Type::f32) return single_of_integer(value, rounding);
  double x = value.floating ? value.number
                            : (value.negative ? -1.0 : 1.0) * static_cast<double>(value.magnitude);
  if ((mode & kToIntegral) != 0) x = to_whole(x, rounding);
  if ((mode & kSaturated) != 0) x = x > 0 ? std::min(x, 1.0) : 0.0;
  if ((mode & kReluResult) != 0 && x < 0) x = 0;
  switch (type) {
    case Type::f16:
      return f16_of(round_to(x, kHalf, rounding));
    case Type::bf16:
      return bf16_of(round_to(x, kBFloat, rounding));
    case Type::f32: {
      const auto single = static_cast<float>(round_to(x, kSingle, rounding));
      return std::bit_cast<std::uint32_t>(
          canonical((mode & kFlushed) != 0 ? flush(single) : single));
    }
    default:
      return std::bit_cast<std::uint64_t>(x);
  }
}

void convert(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const int in_bytes = instruction.register_bytes;
  const int out_bytes = static_cast<int>(instruction.offset);
  const auto* const in = warp.in<std::byte>(instruction, 0);
  auto* const out = warp.out<std::byte>(instruction);
  const int bits = 8 * bytes_of(instruction.type);
  for_lanes(lanes, [&](int lane) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, in + std::ptrdiff_t{lane} * in_bytes, static_cast<std::size_t>(in_bytes));
    const Value value = load_value(raw, instruction.source, (instruction.mode & kFlushed) != 0);
    std::uint64_t result = 0;
    if (is_float(instruction.type)) {
      result = to_float(value, instruction.type, instruction.mode);
    } else {
      // A wider register gets the sign or zeros.
      result = to_integer(value, instruction.type, instruction.mode) << (64 - bits);
      result = is_signed(instruction.type)
                   ? static_cast<std::uint64_t>(static_cast<std::int64_t>(result) >> (64 - bits))
                   : result >> (64 - bits);
    }
    std::memcpy(
        out + std::ptrdiff_t{lane} * out_bytes, &result, static_cast<std::size_t>(out_bytes));
  });
}

/// The common ones, one expression per lane.
template <class R, class A>
struct Cast {
  R operator()(A a) const { return static_cast<R>(a); }
};
struct WidenHalf {
  float operator()(std::uint16_t a) const { return f16_to_float(a); }
};
struct WidenBFloat {
  float operator()(std::uint16_t a) const { return canonical(bf16_to_float(a)); }
};
/// Nearest even by adding just less than half of the last place that stays.
struct NarrowBFloat {
  std::uint16_t operator()(float a) const {
    const auto bits = std::bit_cast<std::uint32_t>(a);
    const std::uint32_t rounded = bits + 0x7FFFU + (bits >> 16U & 1U);
    return a == a ? static_cast<std::uint16_t>(rounded >> 16U) : kNan16;
  }
};

Handler fast_path(const Instruction& instruction, int in_bytes, int out_bytes) {
  if (in_bytes != bytes_of(instruction.source) || out_bytes != bytes_of(instruction.type) ||
      instruction.mode != 0)
    return nullptr;
  const Type to = instruction.type;
  const Type from = instruction.source;
  if (to == Type::f32 && from == Type::f16) return unary<float, std::uint16_t, WidenHalf>;
  if (to == Type::f32 && from == Type::bf16) return unary<float, std::uint16_t, WidenBFloat>;
  if (to == Type::bf16 && from == Type::f32) return unary<std::uint16_t, float, NarrowBFloat>;
  if (to == Type::f32 && from == Type::s32)
    return unary<float, std::int32_t, Cast<float, std::int32_t>>;
  if (to == Type::f32 && from == Type::u32)
    return unary<float, std::uint32_t, Cast<float, std::uint32_t>>;
  if (is_float(to) || is_float(from)) return nullptr;
  return for_integer(from, [&]<class A>() -> Handler {
    return for_integer(to, [&]<class R>() -> Handler { return unary<R, A, Cast<R, A>>; });
  });
}

/// cvt.rn.f16x2.f32 d, a, b: a above b.
void convert_pair(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const auto* const high = warp.in<float>(instruction, 0);
  const auto* const low = warp.in<float>(instruction, 1);
  auto* const out = warp.out<std::uint32_t>(instruction);
  const Type type = instruction.type == Type::f16x2 ? Type::f16 : Type::bf16;
  const auto narrow = [&](float x) {
    return static_cast<std::uint32_t>(
        to_float({.floating = true, .number = x}, type, instruction.mode));
  };
  for_lanes(lanes, [&](int lane) { out[lane] = narrow(high[lane]) << 16U | narrow(low[lane]); });
}

int take_mode(Decoding& d) {
  constexpr std::string_view kNames[] = {"rn", "rz", "rm", "rp"};
  constexpr std::string_view kIntegral[] = {"rni", "rzi", "rmi", "rpi"};
  int mode = 0;
  for (int i = 0; i < 4; ++i) {
    if (d.take(kNames[i])) mode = i;
    if (d.take(kIntegral[i])) mode = i | kToIntegral;
  }
  if (d.take("sat")) mode |= kSaturated;
  if (d.take("ftz")) mode |= kFlushed;
  if (d.take("relu")) mode |= kReluResult;
  return mode;
}

}  // namespace

Handler decode_convert(Decoding& d) {
  if (d.opcode() != "cvt" || d.types() != 2) return nullptr;
  Instruction& result = d.result;
  result.type = d.type(0);
  result.source = d.type(1);
  result.mode = take_mode(d);
  if (result.type == Type::f16x2 || result.type == Type::bf16x2) {
    if (result.source != Type::f32 || d.operands() != 3 || (result.mode & kFlushed) != 0)
      return nullptr;
    d.out(0, 4);
    d.in(1, 4);
    d.in(2, 4);
    return convert_pair;
  }
  if (d.operands() != 2 || result.source == Type::f16x2 || result.source == Type::bf16x2)
    return nullptr;
  // 64-bit integers would be rounded twice on their way to 16 bits.
  const bool narrow = result.type == Type::f16 || result.type == Type::bf16;
  if (narrow && !is_float(result.source) && bytes_of(result.source) == 8) return nullptr;
  if (is_float(result.source) && !is_float(result.type) && (result.mode & kToIntegral) == 0)
    return nullptr;
  if (!is_float(result.type)) result.mode &= ~kToIntegral;
  const int out_bytes = d.width(d.operand(0));
  const int in_bytes = d.width(d.operand(1)) != 0 ? d.width(d.operand(1)) : bytes_of(result.source);
  if (out_bytes < bytes_of(result.type) || in_bytes < bytes_of(result.source)) return nullptr;
  d.out(0, out_bytes);
  d.in(1, in_bytes);
  result.register_bytes = static_cast<std::uint8_t>(in_bytes);
  result.offset = out_bytes;
  const Handler fast = fast_path(result, in_bytes, out_bytes);
  return fast != nullptr ? fast : convert;
}

}  // namespace fakecuda
