// f32 and f64. Approximate functions are computed in double and rounded once: nearer to the true
// value than the hardware's, which tests must allow for.
#include "tests/lab/cuda/fake/functors.h"
#include "tests/lab/cuda/fake/ops.h"
#include "tests/lab/cuda/fake/rounding.h"

#include <cfenv>
#include <cmath>
#include <limits>

namespace fakecuda {
namespace {

/// Instruction::mode of rounded arithmetic, in the order of kRoundings.
constexpr int kRoundings[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return -a;
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    return std::fabs(a);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return T{1} / a;
  }
};
struct ReciprocalSqrt {
  float operator()(float a) const {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
  }
};
struct Exp2 {
  float operator()(float a) const { return static_cast<float>(std::exp2(static_cast<double>(a))); }
};
struct Log2 {
  float operator()(float a) const { return static_cast<float>(std::log2(static_cast<double>(a))); }
};
struct Sin {
  float operator()(float a) const { return static_cast<float>(std::sin(static_cast<double>(a))); }
};
struct Cos {
  float operator()(float a) const { return static_cast<float>(std::cos(static_cast<double>(a))); }
};
struct Tanh {
  float operator()(float a) const { return static_cast<float>(std::tanh(static_cast<double>(a))); }
};
/// The sign of the first operand on the second.
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};

/// The .ftz and .sat modifiers, and the hardware's one NaN.
template <class F, bool ftz, bool sat>
struct Single {
  static float in(float x) { return ftz ? flush(x) : x; }
  static float out(float x) {
    if (ftz) x = flush(x);
    if (sat) return x > 0 ? (x < 1 ? x : 1.0F) : 0.0F;  // NaN becomes 0
    return canonical(x);
  }
  float operator()(float a) const { return out(F{}(in(a))); }
  float operator()(float a, float b) const { return out(F{}(in(a), in(b))); }
  float operator()(float a, float b, float c) const { return out(F{}(in(a), in(b), in(c))); }
};

template <class T, int sources, class F>
void compute(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  if constexpr (sources == 1)
    unary<T, T, F>(warp, instruction, lanes);
  else if constexpr (sources == 2)
    binary<T, T, T, F>(warp, instruction, lanes);
  else
    ternary<T, T, T, T, F>(warp, instruction, lanes);
}

template <class T, int sources, class F>
void compute_rounded(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  // Operands are read after the first call and results written before the second: nothing moves
  // past them.
  std::fesetround(kRoundings[instruction.mode]);
  compute<T, sources, F>(warp, instruction, lanes);
  std::fesetround(FE_TONEAREST);
}

int take_rounding(Decoding& d) {
  if (d.take("rn")) return 0;
  if (d.take("rz")) return 1;
  if (d.take("rm")) return 2;
  return d.take("rp") ? 3 : -1;
}

template <int sources, class F, bool ftz, bool sat>
Handler single(const Decoding& d) {
  using G = Single<F, ftz, sat>;
  return d.result.mode > 0 ? compute_rounded<float, sources, G> : compute<float, sources, G>;
}

/// Exact operations: f32 with .ftz and .sat, f64, any rounding.
template <int sources, class F>
Handler exact(Decoding& d) {
  same_width(d, sources, bytes_of(d.type()));
  d.result.mode = std::max(take_rounding(d), 0);
  if (d.type() == Type::f64)
    return d.result.mode > 0 ? compute_rounded<double, sources, F> : compute<double, sources, F>;
  const bool ftz = d.take("ftz");
  if (d.take("sat"))
    return ftz ? single<sources, F, true, true>(d) : single<sources, F, false, true>(d);
  return ftz ? single<sources, F, true, false>(d) : single<sources, F, false, false>(d);
}

/// Approximate functions exist in f32 only.
template <class F>
Handler approximate(Decoding& d) {
  if (d.type() != Type::f32 || !d.take("approx")) return nullptr;
  same_width(d, 1, 4);
  return d.take("ftz") ? compute<float, 1, Single<F, true, false>>
                       : compute<float, 1, Single<F, false, false>>;
}

/// Operations that only move bits: no canonical NaN.
template <int sources, class F>
Handler bitwise(Decoding& d) {
  same_width(d, sources, bytes_of(d.type()));
  if (d.type() == Type::f64) return compute<double, sources, F>;
  struct Flushed {
    float operator()(float a) const {
      if constexpr (sources == 1)
        return F{}(flush(a));
      else
        return a;
    }
    float operator()(float a, float b) const {
      if constexpr (sources == 2)
        return F{}(flush(a), flush(b));
      else
        return a + b;
    }
  };
  return d.take("ftz") ? compute<float, sources, Flushed> : compute<float, sources, F>;
}

template <class F>
Handler extremum(Decoding& d) {
  return d.take("NaN") ? exact<2, floating::WithNan<F>>(d) : exact<2, F>(d);
}

}  // namespace

Handler decode_float(Decoding& d) {
  const std::string_view opcode = d.opcode();
  if (d.types() != 1 || (d.type() != Type::f32 && d.type() != Type::f64)) return nullptr;
  if (opcode == "add") return exact<2, Add>(d);
  if (opcode == "sub") return exact<2, Sub>(d);
  if (opcode == "mul") return exact<2, Mul>(d);
  if (opcode == "fma") return exact<3, Fma>(d);
  if (opcode == "div") {
    // .approx and .full lie within 2 ulp of the quotient, which they are here.
    if (!d.take("approx")) d.take("full");
    return exact<2, Div>(d);
  }
  if (opcode == "min") return extremum<floating::Min>(d);
  if (opcode == "max") return extremum<floating::Max>(d);
  if (opcode == "neg") return bitwise<1, Neg>(d);
  if (opcode == "abs") return bitwise<1, Abs>(d);
  if (opcode == "copysign") return bitwise<2, CopySign>(d);
  if (opcode == "rcp") {
    d.take("approx");
    return exact<1, Reciprocal>(d);
  }
  if (opcode == "sqrt") {
    d.take("approx");
    return exact<1, Sqrt>(d);
  }
  if (opcode == "rsqrt") return approximate<ReciprocalSqrt>(d);
  if (opcode == "ex2") return approximate<Exp2>(d);
  if (opcode == "lg2") return approximate<Log2>(d);
  if (opcode == "sin") return approximate<Sin>(d);
  if (opcode == "cos") return approximate<Cos>(d);
  if (opcode == "tanh") return approximate<Tanh>(d);
  return nullptr;
}

}  // namespace fakecuda
