// f16, bf16 and their pairs: each result is the exact value rounded once.
#include "tests/lab/cuda/fake/functors.h"
#include "tests/lab/cuda/fake/ops.h"
#include "tests/lab/cuda/fake/rounding.h"

#include <cmath>

namespace fakecuda {
namespace {

struct F16 {
  static float load(std::uint16_t bits) { return f16_to_float(bits); }
  static std::uint16_t store(double x) { return f16_of(round_to(x, kHalf, Rounding::nearest)); }
};
struct BF16 {
  static float load(std::uint16_t bits) { return bf16_to_float(bits); }
  static std::uint16_t store(double x) { return bf16_of(round_to(x, kBFloat, Rounding::nearest)); }
};

// Sums and products of two such numbers are exact in double, or so nearly that rounding twice is
// harmless (53 bits are more than 2 * 11 + 2).
struct Add {
  double operator()(float a, float b) const { return static_cast<double>(a) + b; }
};
struct Sub {
  double operator()(float a, float b) const { return static_cast<double>(a) - b; }
};
struct Mul {
  double operator()(float a, float b) const { return static_cast<double>(a) * b; }
};
struct Fma {
  double operator()(float a, float b, float c) const {
    const double product = static_cast<double>(a) * b;
    if (!std::isfinite(product) || !std::isfinite(c)) return product + c;
    return fma_odd(a, b, c);
  }
};
struct Exp2 {
  double operator()(float a) const { return std::exp2(static_cast<double>(a)); }
};
struct Tanh {
  double operator()(float a) const { return std::tanh(static_cast<double>(a)); }
};

enum Clamp { kNoClamp, kRelu, kSaturate };

double clamped(double x, int clamp) {
  if (clamp == kRelu) return x < 0 ? 0.0 : x;  // NaN stays
  if (clamp == kSaturate) return x > 0 ? (x < 1 ? x : 1.0) : 0.0;
  return x;
}

template <class Number, int sources, class F>
void compute(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  // A pair is two numbers of one lane; planes of pairs are planes of twice as many numbers.
  const int numbers = bytes_of(instruction.type) / 2;
  auto* const out = warp.out<std::uint16_t>(instruction);
  const std::uint16_t* in[sources];
  for (int i = 0; i < sources; ++i) in[i] = warp.in<std::uint16_t>(instruction, i);
  for_lanes(lanes, [&](int lane) {
    for (int k = lane * numbers; k < (lane + 1) * numbers; ++k) {
      double result = 0;
      if constexpr (sources == 1) result = F{}(Number::load(in[0][k]));
      if constexpr (sources == 2) result = F{}(Number::load(in[0][k]), Number::load(in[1][k]));
      if constexpr (sources == 3)
        result = F{}(Number::load(in[0][k]), Number::load(in[1][k]), Number::load(in[2][k]));
      out[k] = Number::store(clamped(result, instruction.mode));
    }
  });
}

template <class F>
void change_sign(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const int numbers = bytes_of(instruction.type) / 2;
  auto* const out = warp.out<std::uint16_t>(instruction);
  const auto* const in = warp.in<std::uint16_t>(instruction, 0);
  for_lanes(lanes, [&](int lane) {
    for (int k = lane * numbers; k < (lane + 1) * numbers; ++k) out[k] = F{}(in[k]);
  });
}
struct NegBits {
  std::uint16_t operator()(std::uint16_t x) const { return x ^ 0x8000U; }
};
struct AbsBits {
  std::uint16_t operator()(std::uint16_t x) const { return x & 0x7FFFU; }
};

bool is_f16(Type type) { return type == Type::f16 || type == Type::f16x2; }

template <int sources, class F>
Handler arithmetic(Decoding& d) {
  same_width(d, sources, bytes_of(d.type()));
  d.take("rn");
  d.result.type = d.type();
  d.result.mode = d.take("relu") ? kRelu : d.take("sat") ? kSaturate : kNoClamp;
  return is_f16(d.type()) ? compute<F16, sources, F> : compute<BF16, sources, F>;
}
template <class F>
Handler extremum(Decoding& d) {
  return d.take("NaN") ? arithmetic<2, floating::WithNan<F>>(d) : arithmetic<2, F>(d);
}
template <class F>
Handler sign(Decoding& d) {
  same_width(d, 1, bytes_of(d.type()));
  d.result.type = d.type();
  return change_sign<F>;
}

}  // namespace

Handler decode_half(Decoding& d) {
  const Type type = d.type();
  const bool half = is_f16(type) || type == Type::bf16 || type == Type::bf16x2;
  if (!half || d.types() != 1) return nullptr;
  const std::string_view opcode = d.opcode();
  if (opcode == "add") return arithmetic<2, Add>(d);
  if (opcode == "sub") return arithmetic<2, Sub>(d);
  if (opcode == "mul") return arithmetic<2, Mul>(d);
  if (opcode == "fma") return arithmetic<3, Fma>(d);
  if (opcode == "min") return extremum<floating::Min>(d);
  if (opcode == "max") return extremum<floating::Max>(d);
  if (opcode == "neg") return sign<NegBits>(d);
  if (opcode == "abs") return sign<AbsBits>(d);
  if (opcode == "ex2" && d.take("approx")) {
    if (!is_f16(type)) d.take("ftz");
    return arithmetic<1, Exp2>(d);
  }
  if (opcode == "tanh" && d.take("approx")) return arithmetic<1, Tanh>(d);
  return nullptr;
}

}  // namespace fakecuda
