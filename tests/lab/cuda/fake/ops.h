#pragma once
#include "tests/lab/cuda/fake/decode.h"
#include "tests/lab/cuda/fake/warp.h"

#include <cstdint>
#include <type_traits>

/// Common code of the families of instructions: handlers made from a function object on one lane.
namespace fakecuda {

template <class R, class A, class F>
void unary(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  R* const out = warp.out<R>(instruction);
  const A* const a = warp.in<A>(instruction, 0);
  for_lanes(lanes, [&](int lane) { out[lane] = static_cast<R>(F{}(a[lane])); });
}

template <class R, class A, class B, class F>
void binary(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  R* const out = warp.out<R>(instruction);
  const A* const a = warp.in<A>(instruction, 0);
  const B* const b = warp.in<B>(instruction, 1);
  for_lanes(lanes, [&](int lane) { out[lane] = static_cast<R>(F{}(a[lane], b[lane])); });
}

template <class R, class A, class B, class C, class F>
void ternary(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  R* const out = warp.out<R>(instruction);
  const A* const a = warp.in<A>(instruction, 0);
  const B* const b = warp.in<B>(instruction, 1);
  const C* const c = warp.in<C>(instruction, 2);
  for_lanes(lanes, [&](int lane) { out[lane] = static_cast<R>(F{}(a[lane], b[lane], c[lane])); });
}

/// Operands of the same width: d = f(a, b, ...).
inline void same_width(Decoding& d, int sources, int bytes) {
  if (static_cast<int>(d.operands()) != sources + 1) return d.fail();
  d.out(0, bytes);
  for (int i = 0; i < sources; ++i) d.in(static_cast<std::size_t>(i) + 1, bytes);
}

/// make.operator()<T>() for the C++ type of an integer type; null for others. .bN counts as
/// unsigned.
template <class Make>
Handler for_integer(Type type, Make make) {
  switch (type) {
    case Type::u16:
    case Type::b16:
      return make.template operator()<std::uint16_t>();
    case Type::s16:
      return make.template operator()<std::int16_t>();
    case Type::u32:
    case Type::b32:
      return make.template operator()<std::uint32_t>();
    case Type::s32:
      return make.template operator()<std::int32_t>();
    case Type::u64:
    case Type::b64:
      return make.template operator()<std::uint64_t>();
    case Type::s64:
      return make.template operator()<std::int64_t>();
    default:
      return nullptr;
  }
}

/// Arithmetic that may wrap, without undefined behaviour: an unsigned type at least as wide as int.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

}  // namespace fakecuda
