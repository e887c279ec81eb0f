// Integer arithmetic: add sub mul mad div rem min max neg abs dp2a.
#include "tests/lab/cuda/fake/functors.h"
#include "tests/lab/cuda/fake/ops.h"

namespace fakecuda {
namespace {

template <class T>
struct Twice;
template <>
struct Twice<std::uint16_t> {
  using Type = std::uint32_t;
};
template <>
struct Twice<std::int16_t> {
  using Type = std::int32_t;
};
template <>
struct Twice<std::uint32_t> {
  using Type = std::uint64_t;
};
template <>
struct Twice<std::int32_t> {
  using Type = std::int64_t;
};
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;
template <>
struct Twice<std::uint64_t> {
  using Type = Uint128;
};
template <>
struct Twice<std::int64_t> {
  using Type = Int128;
};
template <class T>
using TwiceT = typename Twice<T>::Type;

struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
  }
};
struct MulLow {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
  }
};
struct MulHigh {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>((static_cast<TwiceT<T>>(a) * b) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <class T>
  TwiceT<T> operator()(T a, T b) const {
    return static_cast<TwiceT<T>>(a) * b;
  }
};
struct MadLow {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b) + Wrapping<T>(c));
  }
};
struct MadHigh {
  template <class T>
  T operator()(T a, T b, T c) const {
    return integer::Add{}(MulHigh{}(a, b), c);
  }
};
struct MadWide {
  template <class T, class W>
  W operator()(T a, T b, W c) const {
    return integer::Add{}(static_cast<W>(MulWide{}(a, b)), c);
  }
};
/// c + a's two halves times two bytes of b, all without sign.
template <bool high>
struct DotOfTwo {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint32_t bytes = high ? b >> 16U : b;
    return c + (a & 0xFFFFU) * (bytes & 0xFFU) + (a >> 16U) * (bytes >> 8U & 0xFFU);
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(a));
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    return a < 0 ? Neg{}(a) : a;
  }
};

/// Divides where the hardware's result is defined; a zero divisor is a fault of the kernel.
template <class T, bool remainder>
void divide(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  T* const out = warp.out<T>(instruction);
  const T* const a = warp.in<T>(instruction, 0);
  const T* const b = warp.in<T>(instruction, 1);
  for_lanes(lanes, [&](int lane) {
    if (b[lane] == 0) warp.fault(instruction, 1U << lane, "integer division by zero");
    if (std::is_signed_v<T> && b[lane] == static_cast<T>(-1))
      out[lane] = remainder ? T{0} : Neg{}(a[lane]);
    else
      out[lane] = static_cast<T>(remainder ? a[lane] % b[lane] : a[lane] / b[lane]);
  });
}

Handler decode_product(Decoding& d, bool mad) {
  const int bytes = bytes_of(d.type());
  if (d.operands() != (mad ? 4U : 3U)) return nullptr;
  const bool wide = d.take("wide");
  const bool high = !wide && d.take("hi");
  if (!wide && !high && !d.take("lo")) return nullptr;
  const int result = wide ? 2 * bytes : bytes;
  d.out(0, result);
  d.in(1, bytes);
  d.in(2, bytes);
  if (mad) d.in(3, result);
  return for_integer(d.type(), [&]<class T>() -> Handler {
    if (wide) {
      if constexpr (sizeof(T) < 8) {
        using W = TwiceT<T>;
        return mad ? ternary<W, T, T, W, MadWide> : binary<W, T, T, MulWide>;
      } else {
        return nullptr;
      }
    }
    if (mad) return high ? ternary<T, T, T, T, MadHigh> : ternary<T, T, T, T, MadLow>;
    return high ? binary<T, T, T, MulHigh> : binary<T, T, T, MulLow>;
  });
}

Handler decode_dot_of_two(Decoding& d) {
  using U = std::uint32_t;
  if (d.types() != 2 || d.type(0) != Type::u32 || d.type(1) != Type::u32) return nullptr;
  same_width(d, 3, 4);
  if (d.take("lo")) return ternary<U, U, U, U, DotOfTwo<false>>;
  return d.take("hi") ? ternary<U, U, U, U, DotOfTwo<true>> : nullptr;
}

template <class F>
Handler two_sources(Decoding& d) {
  same_width(d, 2, bytes_of(d.type()));
  return for_integer(d.type(), []<class T>() -> Handler { return binary<T, T, T, F>; });
}
template <class F>
Handler one_source(Decoding& d) {
  same_width(d, 1, bytes_of(d.type()));
  return for_integer(d.type(), []<class T>() -> Handler { return unary<T, T, F>; });
}

}  // namespace

Handler decode_integer(Decoding& d) {
  const std::string_view opcode = d.opcode();
  if (opcode == "dp2a") return decode_dot_of_two(d);
  if (is_float(d.type()) || d.types() != 1) return nullptr;
  if (opcode == "add") return two_sources<integer::Add>(d);
  if (opcode == "sub") return two_sources<Sub>(d);
  if (opcode == "min") return two_sources<integer::Min>(d);
  if (opcode == "max") return two_sources<integer::Max>(d);
  if (opcode == "neg") return one_source<Neg>(d);
  if (opcode == "abs") return one_source<Abs>(d);
  if (opcode == "mul") return decode_product(d, false);
  if (opcode == "mad") return decode_product(d, true);
  if (opcode == "div" || opcode == "rem") {
    same_width(d, 2, bytes_of(d.type()));
    const bool remainder = opcode == "rem";
    return for_integer(d.type(), [&]<class T>() -> Handler {
      return remainder ? divide<T, true> : divide<T, false>;
    });
  }
  return nullptr;
}

}  // namespace fakecuda
