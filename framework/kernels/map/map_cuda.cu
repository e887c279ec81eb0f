// Interprets a program. Registers are in shared memory, a column for each thread, so that an
// instruction may address any of them. Each thread has a few elements, a block's width apart, which
// share the cost of reading and dispatching an instruction. Reads each input and writes each output
// once.
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/launch.cuh"
#include "framework/kernels/common/cuda/sine.cuh"
#include "framework/kernels/map/map_kernels.h"

#include <cstdint>

namespace learn::cuda {
namespace {

using expr::Op;
using kernels::MapArgs;
using kernels::MapInput;
using kernels::MapInstruction;
using kernels::MapOutput;
using kernels::MapProgram;

constexpr int kThreads = 64;
constexpr int kEach = 4;  // elements per thread
static_assert(sizeof(MapArgs) <= 4096, "all that a kernel's parameters may take");

__device__ float read(DType dtype, const void* data, std::int64_t i) {
  if (data == nullptr) return static_cast<float>(i);
  switch (dtype) {
    case DType::f32:
      return static_cast<const float*>(data)[i];
    case DType::f16:
      return device::load(static_cast<const Half*>(data)[i]);
    case DType::bf16:
      return device::load(static_cast<const BFloat16*>(data)[i]);
    case DType::i64:
      return static_cast<float>(static_cast<const std::int64_t*>(data)[i]);
    case DType::i32:
      return static_cast<float>(static_cast<const std::int32_t*>(data)[i]);
    default:
      return static_cast<float>(static_cast<const std::uint8_t*>(data)[i]);
  }
}

template <class T>
__device__ void write_as(const MapOutput& out, std::int64_t i, float value) {
  T& to = static_cast<T*>(out.data)[i];
  to = device::store<T>(out.accumulate ? device::load(to) + value : value);
}

__device__ void write(const MapOutput& out, std::int64_t i, float value) {
  if (out.dtype == DType::f16)
    write_as<Half>(out, i, value);
  else if (out.dtype == DType::bf16)
    write_as<BFloat16>(out, i, value);
  else
    write_as<float>(out, i, value);
}

__device__ float result(Op op, float a, float b, float c) {
  switch (op) {
    case Op::negate:
      return -a;
    case Op::abs:
      return fabsf(a);
    case Op::sign:
      return (a > 0 ? 1.0F : 0.0F) - (a < 0 ? 1.0F : 0.0F);
    case Op::sqrt:
      return sqrtf(a);
    case Op::exp:
      return expf(a);
    case Op::log:
      return logf(a);
    case Op::log1p:
      return log1pf(a);
    case Op::sin:
      return device::sine(a, 0);
    case Op::cos:
      return device::sine(a, 1);
    case Op::tanh:
      return tanhf(a);
    case Op::sigmoid:
      return 1 / (1 + expf(-a));
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::pow:
      return powf(a, b);
    case Op::minimum:
      return a < b || isnan(a) ? a : b;
    case Op::maximum:
      return a > b || isnan(a) ? a : b;
    case Op::less:
      return a < b ? 1.0F : 0.0F;
    case Op::less_equal:
      return a <= b ? 1.0F : 0.0F;
    case Op::equal:
      return a == b ? 1.0F : 0.0F;
    case Op::clamp:
      return a <= b ? b : c <= a ? c : a;
    default:
      return a != 0 ? b : c;
  }
}

__global__ void program_kernel(const __grid_constant__ MapArgs args) {
  __shared__ float registers[MapProgram::kRegisters][kEach][kThreads];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kEach) +
                             static_cast<std::int64_t>(threadIdx.x);
  const auto operand = [&](int at, int e) {
    return at < MapProgram::kRegisters ? registers[at][e][threadIdx.x]
                                       : args.number[at - MapProgram::kRegisters];
  };
  for (int k = 0; k < args.program.instructions; ++k) {
    const MapInstruction one = args.program.code[k];
    if (one.op == Op::argument) {
      const MapInput& in = args.in[one.a];
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const std::int64_t i = first + e * kThreads;
        registers[one.to][e][threadIdx.x] =
            i < args.n ? read(in.dtype, in.data, in.dense ? i : kernels::offset_in(in, args, i))
                       : 0.0F;
      }
    } else {
#pragma unroll
      for (int e = 0; e < kEach; ++e)
        registers[one.to][e][threadIdx.x] =
            result(one.op, operand(one.a, e), operand(one.b, e), operand(one.c, e));
    }
  }
  for (int k = 0; k < args.program.outputs; ++k) {
    const int from = args.program.output[k];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::int64_t i = first + e * kThreads;
      if (i < args.n) write(args.out[k], i, operand(from, e));
    }
  }
}

}  // namespace

void map(const Exec& exec, const MapArgs& args) {
  const Grid grid{ceil_div(args.n, kThreads * kEach), kThreads};
  launch("map", program_kernel, grid, exec, args);
}

}  // namespace learn::cuda
