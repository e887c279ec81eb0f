// Logic, shifts, bit fields, byte permutation.
#include "tests/lab/cuda/fake/functors.h"
#include "tests/lab/cuda/fake/ops.h"

#include <bit>

namespace fakecuda {
namespace {

struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
/// A shift by the width or more leaves zeros, or the sign.
struct ShiftLeft {
  template <class T>
  T operator()(T a, std::uint32_t by) const {
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(Wrapping<T>(a) << by);
  }
};
struct ShiftRight {
  template <class T>
  T operator()(T a, std::uint32_t by) const {
    if (by >= 8 * sizeof(T)) return static_cast<T>(a < 0 ? -1 : 0);
    return static_cast<T>(a >> by);
  }
};
struct PopulationCount {
  template <class T>
  int operator()(T a) const {
    return std::popcount(a);
  }
};
struct LeadingZeros {
  template <class T>
  int operator()(T a) const {
    return std::countl_zero(a);
  }
};
struct Reverse {
  template <class T>
  T operator()(T a) const {
    T result = 0;
    for (std::size_t i = 0; i < 8 * sizeof(T); ++i)
      result |= static_cast<T>((a >> i & 1U) << (8 * sizeof(T) - 1 - i));
    return result;
  }
};
/// The position of the highest bit that differs from the sign; all ones if no bit differs.
struct FindHighest {
  template <class T>
  std::uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(a < 0 ? ~a : a);
    return static_cast<std::uint32_t>(static_cast<int>(8 * sizeof(T)) - 1 - std::countl_zero(bits));
  }
};
struct ExtractField {
  template <class T>
  T operator()(T a, std::uint32_t position, std::uint32_t length) const {
    position &= 255U;
    length &= 255U;
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    if (length == 0) return 0;
    const std::uint32_t top = std::min(position + length - 1, kBits - 1);
    const bool sign = std::is_signed_v<T> && (a >> top & 1) != 0;
    T result = 0;
    for (std::uint32_t i = 0; i < kBits; ++i) {
      const bool bit = i < length && position + i < kBits ? (a >> (position + i) & 1) != 0 : sign;
      if (bit) result |= static_cast<T>(std::make_unsigned_t<T>(1) << i);
    }
    return result;
  }
};
struct PermuteBytes {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t selector) const {
    const std::uint64_t bytes = std::uint64_t{b} << 32U | a;
    std::uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint32_t pick = selector >> (4 * i) & 15U;
      std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (pick & 7U))) & 255U;
      if ((pick & 8U) != 0) byte = (byte & 128U) != 0 ? 255U : 0U;
      result |= byte << (8 * i);
    }
    return result;
  }
};
template <bool left, bool wrap>
struct FunnelShift {
  std::uint32_t operator()(std::uint32_t low, std::uint32_t high, std::uint32_t by) const {
    by = wrap ? by & 31U : std::min(by, 32U);
    const std::uint64_t both = std::uint64_t{high} << 32U | low;
    return static_cast<std::uint32_t>(left ? (both << by) >> 32U : both >> by);
  }
};

/// Bits of `b` from `position` on, `length` of them, replaced by the lowest ones of `a`; what would
/// lie beyond the highest bit is dropped.
template <class T>
void insert_field(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  const auto* const a = warp.in<T>(instruction, 0);
  const auto* const b = warp.in<T>(instruction, 1);
  const auto* const position = warp.in<std::uint32_t>(instruction, 2);
  const auto* const length = warp.in<std::uint32_t>(instruction, 3);
  auto* const out = warp.out<T>(instruction);
  for_lanes(lanes, [&](int lane) {
    const std::uint32_t at = position[lane] & 255U;
    const std::uint32_t n = length[lane] & 255U;
    const T low = n >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << n) - 1);
    const T field = at >= kBits ? T{0} : static_cast<T>(low << at);
    const T moved = at >= kBits ? T{0} : static_cast<T>(a[lane] << at);
    out[lane] = static_cast<T>((b[lane] & ~field) | (moved & field));
  });
}

void lookup3(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const auto* const a = warp.in<std::uint32_t>(instruction, 0);
  const auto* const b = warp.in<std::uint32_t>(instruction, 1);
  const auto* const c = warp.in<std::uint32_t>(instruction, 2);
  const auto* const table = warp.in<std::uint32_t>(instruction, 3);
  auto* const out = warp.out<std::uint32_t>(instruction);
  for_lanes(lanes, [&](int lane) {
    std::uint32_t result = 0;
    for (unsigned row = 0; row < 8; ++row)
      if ((table[lane] >> row & 1U) != 0)
        result |= ((row & 4U) != 0 ? a[lane] : ~a[lane]) & ((row & 2U) != 0 ? b[lane] : ~b[lane]) &
                  ((row & 1U) != 0 ? c[lane] : ~c[lane]);
    out[lane] = result;
  });
}

template <class Make>
Handler for_bits(Type type, Make make) {
  switch (bytes_of(type)) {
    case 2:
      return make.template operator()<std::uint16_t>();
    case 4:
      return make.template operator()<std::uint32_t>();
    case 8:
      return make.template operator()<std::uint64_t>();
    default:
      return nullptr;
  }
}

template <class F>
Handler logic(Decoding& d) {
  same_width(d, 2, bytes_of(d.type()));
  return for_bits(d.type(), []<class T>() -> Handler { return binary<T, T, T, F>; });
}
template <class F>
Handler counted(Decoding& d) {
  if (d.operands() != 2) return nullptr;
  d.out(0, 4);
  d.in(1, bytes_of(d.type()));
  return for_integer(d.type(), []<class T>() -> Handler {
    if constexpr (std::is_same_v<F, FindHighest>)
      return unary<std::uint32_t, T, F>;
    else
      return unary<std::uint32_t, std::make_unsigned_t<T>, F>;
  });
}
template <class F>
Handler shift(Decoding& d) {
  if (d.operands() != 3) return nullptr;
  d.out(0, bytes_of(d.type()));
  d.in(1, bytes_of(d.type()));
  d.in(2, 4);
  return for_integer(d.type(), []<class T>() -> Handler { return binary<T, T, std::uint32_t, F>; });
}

Handler decode_funnel(Decoding& d) {
  same_width(d, 3, 4);
  const bool left = d.take("l");
  if (!left && !d.take("r")) return nullptr;
  const bool wrap = d.take("wrap");
  if (!wrap && !d.take("clamp")) return nullptr;
  using U = std::uint32_t;
  if (left)
    return wrap ? ternary<U, U, U, U, FunnelShift<true, true>>
                : ternary<U, U, U, U, FunnelShift<true, false>>;
  return wrap ? ternary<U, U, U, U, FunnelShift<false, true>>
              : ternary<U, U, U, U, FunnelShift<false, false>>;
}

}  // namespace

Handler decode_bits(Decoding& d) {
  const std::string_view opcode = d.opcode();
  const Type type = d.type();
  if (type == Type::pred || is_float(type) || d.types() != 1) return nullptr;
  if (opcode == "and") return logic<integer::And>(d);
  if (opcode == "or") return logic<integer::Or>(d);
  if (opcode == "xor") return logic<integer::Xor>(d);
  if (opcode == "not") {
    same_width(d, 1, bytes_of(type));
    return for_bits(type, []<class T>() -> Handler { return unary<T, T, Not>; });
  }
  if (opcode == "shl") return shift<ShiftLeft>(d);
  if (opcode == "shr") return shift<ShiftRight>(d);
  if (opcode == "shf") return type == Type::b32 ? decode_funnel(d) : nullptr;
  if (opcode == "popc") return counted<PopulationCount>(d);
  if (opcode == "clz") return counted<LeadingZeros>(d);
  if (opcode == "bfind") return counted<FindHighest>(d);
  if (opcode == "brev") {
    same_width(d, 1, bytes_of(type));
    return for_bits(type, []<class T>() -> Handler { return unary<T, T, Reverse>; });
  }
  if (opcode == "prmt") {
    same_width(d, 3, 4);
    return type == Type::b32
               ? ternary<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, PermuteBytes>
               : nullptr;
  }
  if (opcode == "bfe") {
    if (d.operands() != 4) return nullptr;
    d.out(0, bytes_of(type));
    d.in(1, bytes_of(type));
    d.in(2, 4);
    d.in(3, 4);
    return for_integer(type, []<class T>() -> Handler {
      return ternary<T, T, std::uint32_t, std::uint32_t, ExtractField>;
    });
  }
  if (opcode == "bfi") {
    if (d.operands() != 5) return nullptr;
    for (std::size_t i = 1; i <= 2; ++i) d.in(i, bytes_of(type));
    for (std::size_t i = 3; i <= 4; ++i) d.in(i, 4);
    d.out(0, bytes_of(type));
    return for_bits(type, []<class T>() -> Handler {
      if constexpr (sizeof(T) >= 4) return insert_field<T>;
      return nullptr;
    });
  }
  if (opcode == "lop3") {
    same_width(d, 4, 4);
    return type == Type::b32 ? lookup3 : nullptr;
  }
  return nullptr;
}

}  // namespace fakecuda
