#pragma once
#include "framework/kernels/map/map_kernels.h"
#include "framework/tensor/convert.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

/// Processes one element after the other, in double for every dtype, with one rounding.
namespace learn::reference {

[[nodiscard]] inline double map_load(DType dtype, const void* data, std::int64_t i) {
  if (data == nullptr) return static_cast<double>(i);
  double value = 0;
  visit_dtype(dtype, [&]<class T>() { value = as_double(static_cast<const T*>(data)[i]); });
  return value;
}

[[nodiscard]] inline double map_result(expr::Op op, double a, double b, double c) {
  using expr::Op;
  switch (op) {
    case Op::negate:
      return -a;
    case Op::abs:
      return std::abs(a);
    case Op::sign:
      return a > 0 ? 1 : a < 0 ? -1 : 0;
    case Op::sqrt:
      return std::sqrt(a);
    case Op::exp:
      return std::exp(a);
    case Op::log:
      return std::log(a);
    case Op::log1p:
      return std::log1p(a);
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::sigmoid:
      return 1 / (1 + std::exp(-a));
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::pow:
      return std::pow(a, b);
    case Op::minimum:
      return a < b || std::isnan(a) ? a : b;
    case Op::maximum:
      return a > b || std::isnan(a) ? a : b;
    case Op::less:
      return a < b ? 1 : 0;
    case Op::less_equal:
      return a <= b ? 1 : 0;
    case Op::equal:
      return a == b ? 1 : 0;
    case Op::clamp:
      return a <= b ? b : c <= a ? c : a;
    case Op::select:
      return a != 0 ? b : c;
    case Op::argument:
    case Op::constant:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

inline void map(Exec, const kernels::MapArgs& args) {
  using kernels::MapProgram;
  const MapProgram& program = args.program;
  double value[MapProgram::kRegisters + MapProgram::kNumbers] = {};
  for (std::size_t k = 0; k < MapProgram::kNumbers; ++k)
    value[MapProgram::kRegisters + k] = program.number[k];
  for (std::int64_t i = 0; i < args.n; ++i) {
    for (int k = 0; k < program.instructions; ++k) {
      const kernels::MapInstruction& one = program.code[static_cast<std::size_t>(k)];
      const kernels::MapInput& in = args.in[one.op == expr::Op::argument ? one.a : 0];
      value[one.to] =
          one.op == expr::Op::argument
              ? map_load(in.dtype, in.data, in.dense ? i : kernels::offset_in(in, args, i))
              : map_result(one.op, value[one.a], value[one.b], value[one.c]);
    }
    for (int k = 0; k < program.outputs; ++k) {
      const kernels::MapOutput& out = args.out[k];
      const double result = value[program.output[static_cast<std::size_t>(k)]];
      visit_floating(out.dtype, [&]<class T>() {
        T& to = static_cast<T*>(out.data)[i];
        to = from_double<T>(out.accumulate ? as_double(to) + result : result);
      });
    }
  }
}

}  // namespace learn::reference
