// mov in all its forms, and conversions between generic and specific addresses.
#include "tests/lab/cuda/fake/ops.h"

#include <cstring>

namespace fakecuda {
namespace {

struct Same {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};

/// mov.b64 %rd1, {%r1, %r2} and back: the low part comes first.
template <class Whole, class Part>
void pack(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  constexpr int kParts = sizeof(Whole) / sizeof(Part);
  auto* const out = warp.out<Part>(instruction);
  for (int i = 0; i < kParts; ++i) {
    const auto* const in = warp.in<Part>(instruction, i);
    for_lanes(lanes, [&](int lane) { out[lane * kParts + i] = in[lane]; });
  }
}
template <class Whole, class Part>
void unpack(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  constexpr int kParts = sizeof(Whole) / sizeof(Part);
  const auto* const in = warp.in<Part>(instruction, 0);
  for (int i = 0; i < kParts; ++i) {
    auto* const out = warp.out<Part>(instruction, i);
    for_lanes(lanes, [&](int lane) { out[lane] = in[lane * kParts + i]; });
  }
}

template <bool packing, class Whole, class Part>
constexpr Handler kPacking = packing ? pack<Whole, Part> : unpack<Whole, Part>;

template <bool packing>
Handler decode_packing(Decoding& d) {
  const int whole = bytes_of(d.type());
  const std::vector<std::string> parts = d.pieces(packing ? 1 : 0);
  if (parts.empty() || whole % static_cast<int>(parts.size()) != 0) return nullptr;
  const int part = whole / static_cast<int>(parts.size());
  if (packing) d.out(0, whole);
  for (const std::string& piece : parts) packing ? d.in_text(piece, part) : d.out_text(piece, part);
  if (!packing) d.in(1, whole);
  if (whole == 4 && part == 2) return kPacking<packing, std::uint32_t, std::uint16_t>;
  if (whole == 8 && part == 2) return kPacking<packing, std::uint64_t, std::uint16_t>;
  if (whole == 8 && part == 4) return kPacking<packing, std::uint64_t, std::uint32_t>;
  return nullptr;
}

Handler decode_mov(Decoding& d) {
  if (d.types() != 1 || d.operands() != 2) return nullptr;
  if (d.operand(0).starts_with('{')) return decode_packing<false>(d);
  if (d.operand(1).starts_with('{')) return decode_packing<true>(d);
  const int bytes = bytes_of(d.type());
  d.out(0, bytes);
  d.in(1, bytes);
  return bytes == 2   ? unary<std::uint16_t, std::uint16_t, Same>
         : bytes == 4 ? unary<std::uint32_t, std::uint32_t, Same>
         : bytes == 8 ? unary<std::uint64_t, std::uint64_t, Same>
                      : nullptr;
}

template <std::uint64_t window>
struct IntoWindow {
  std::uint64_t operator()(std::uint64_t a) const { return a | window; }
};
struct OutOfWindow {
  std::uint64_t operator()(std::uint64_t a) const { return a & ~kWindowMask; }
};
using U = std::uint64_t;

Handler decode_cvta(Decoding& d) {
  if (bytes_of(d.type()) != 8) return nullptr;
  same_width(d, 1, 8);
  const bool to = d.take("to");
  if (d.take("global") || d.take("const")) return unary<U, U, Same>;
  if (d.take("shared"))
    return to ? unary<U, U, OutOfWindow> : unary<U, U, IntoWindow<kSharedWindow>>;
  if (d.take("local")) return to ? unary<U, U, OutOfWindow> : unary<U, U, IntoWindow<kLocalWindow>>;
  if (d.take("param")) return to ? unary<U, U, OutOfWindow> : unary<U, U, IntoWindow<kParamWindow>>;
  return nullptr;
}

}  // namespace

Handler decode_move(Decoding& d) {
  if (d.opcode() == "mov" && d.type() != Type::pred) return decode_mov(d);
  if (d.opcode() == "cvta") return decode_cvta(d);
  return nullptr;
}

}  // namespace fakecuda
