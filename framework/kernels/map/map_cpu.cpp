#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/common/cpu/vector_math.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/map/map_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace learn::cpu {
namespace {

using expr::Op;
using kernels::MapArgs;
using kernels::MapInput;
using kernels::MapInstruction;
using kernels::MapOutput;
using kernels::MapProgram;

/// Elements that an instruction computes at once: enough to amortise its dispatch, and few enough
/// that a program's registers stay in the first-level cache.
constexpr std::int64_t kBlock = 512;
constexpr std::int64_t kGrain = 16384;

/// The operands of one block, by number: registers (computed or loaded without a copy), then
/// numbers.
struct Block {
  float* memory;
  std::int64_t count = 0;  ///< its number of elements
  const float* operand[MapProgram::kRegisters + MapProgram::kNumbers];
  [[nodiscard]] float* own(int i) const { return memory + i * kBlock; }
};

template <class F>
void each(std::int64_t n, float* to, const float* a, F f) {
  LEARN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) to[i] = f(a[i]);
}
template <class F>
void each(std::int64_t n, float* to, const float* a, const float* b, F f) {
  LEARN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) to[i] = f(a[i], b[i]);
}

void compute_select(
    std::int64_t n, float* to, const float* condition, const float* a, const float* b) {
  simd::run([=] {
    LEARN_VECTORIZE
    for (std::int64_t i = 0; i < n; ++i) to[i] = condition[i] != 0 ? a[i] : b[i];
  });
}

/// Returns whether `vsin` and `vcos` accept all of the numbers. NaN counts as too large.
bool are_small(std::int64_t n, const float* a) {
  std::uint32_t largest = 0;
  simd::run([n, a, &largest] {
    std::uint32_t most = 0;  // bit patterns without the sign have the same order as magnitudes
    for (std::int64_t i = 0; i < n; ++i)
      most = std::max(most, std::bit_cast<std::uint32_t>(a[i]) & 0x7FFFFFFFU);
    largest = most;
  });
  return largest <= std::bit_cast<std::uint32_t>(kVsinMost);
}

void compute_sine(Op op, std::int64_t n, float* to, const float* a) {
  // The library uses all digits of pi, but processes one element at a time.
  if (!are_small(n, a)) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = op == Op::sin ? std::sin(a[i]) : std::cos(a[i]);
    return;
  }
  simd::run([=] {
    if (op == Op::sin) return each(n, to, a, [](float x) { return vsin(x); });
    each(n, to, a, [](float x) { return vcos(x); });
  });
}

void compute_unary(Op op, std::int64_t n, float* to, const float* a) {
  simd::run([=] {
    switch (op) {
      case Op::negate:
        return each(n, to, a, [](float x) { return -x; });
      case Op::abs:
        return each(n, to, a, [](float x) { return std::fabs(x); });
      case Op::sign:
        return each(
            n, to, a, [](float x) { return (x > 0 ? 1.0F : 0.0F) - (x < 0 ? 1.0F : 0.0F); });
      case Op::sqrt:
        return each(n, to, a, [](float x) { return std::sqrt(x); });
      case Op::exp:
        return each(n, to, a, [](float x) { return vexp(x); });
      case Op::log:
        return each(n, to, a, [](float x) { return vlog(x); });
      case Op::log1p:
        return each(n, to, a, [](float x) { return vlog1p(x); });
      case Op::tanh:
        return each(n, to, a, [](float x) { return vtanh(x); });
      default:
        return each(n, to, a, [](float x) { return 1 / (1 + vexp(-x)); });
    }
  });
}

void compute_binary(Op op, std::int64_t n, float* to, const float* a, const float* b) {
  simd::run([=] {
    switch (op) {
      case Op::add:
        return each(n, to, a, b, [](float x, float y) { return x + y; });
      case Op::subtract:
        return each(n, to, a, b, [](float x, float y) { return x - y; });
      case Op::multiply:
        return each(n, to, a, b, [](float x, float y) { return x * y; });
      case Op::divide:
        return each(n, to, a, b, [](float x, float y) { return x / y; });
      case Op::pow:
        return each(n, to, a, b, [](float x, float y) { return vpow(x, y); });
      case Op::minimum:
        return each(n, to, a, b, [](float x, float y) { return !(x >= y) && y == y ? x : y; });
      case Op::maximum:
        return each(n, to, a, b, [](float x, float y) { return !(x <= y) && y == y ? x : y; });
      case Op::less:
        return each(n, to, a, b, [](float x, float y) { return x < y ? 1.0F : 0.0F; });
      case Op::less_equal:
        return each(n, to, a, b, [](float x, float y) { return x <= y ? 1.0F : 0.0F; });
      default:
        return each(n, to, a, b, [](float x, float y) { return x == y ? 1.0F : 0.0F; });
    }
  });
}

void compute(const MapInstruction& one, const Block& block) {
  float* to = block.own(one.to);
  const std::int64_t n = block.count;
  const float* a = block.operand[one.a];
  const float* b = block.operand[one.b];
  switch (one.op) {
    case Op::sin:
    case Op::cos:
      return compute_sine(one.op, n, to, a);
    case Op::select:
      return compute_select(n, to, a, b, block.operand[one.c]);
    case Op::negate:
    case Op::abs:
    case Op::sign:
    case Op::sqrt:
    case Op::exp:
    case Op::log:
    case Op::log1p:
    case Op::tanh:
    case Op::sigmoid:
      return compute_unary(one.op, n, to, a);
    default:
      return compute_binary(one.op, n, to, a, b);
  }
}

template <class T>
void load_halves(const T* from, std::int64_t count, float* to) {
  simd::run([=] {
    LEARN_VECTORIZE
    for (std::int64_t i = 0; i < count; ++i) to[i] = as_float(from[i]);
  });
}

/// Loads `count` elements starting at `at`, `stride` apart.
void load_run(
    const MapInput& in, std::int64_t at, std::int64_t stride, std::int64_t count, float* to) {
  if (in.data == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(at + i * stride);
  } else if (stride == 1 && in.dtype == DType::f32) {
    std::copy_n(static_cast<const float*>(in.data) + at, count, to);
  } else if (stride == 1 && in.dtype == DType::f16) {
    load_halves(static_cast<const Half*>(in.data) + at, count, to);
  } else if (stride == 1 && in.dtype == DType::bf16) {
    load_halves(static_cast<const BFloat16*>(in.data) + at, count, to);
  } else {
    visit_dtype(in.dtype, [&]<class T>() {
      const T* from = static_cast<const T*>(in.data) + at;
      for (std::int64_t i = 0; i < count; ++i) to[i] = as_float(from[i * stride]);
    });
  }
}

/// Loads `count` consecutive elements of an input, row by row of its last dimension.
void load(
    const MapInput& in, const MapArgs& args, std::int64_t begin, std::int64_t count, float* to) {
  if (in.dense) return load_run(in, begin, 1, count, to);
  const std::int64_t width = args.sizes[args.dims - 1];
  const std::int64_t stride = in.strides[args.dims - 1];
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t column = (begin + done) % width;
    const std::int64_t run = std::min(count - done, width - column);
    load_run(in, kernels::offset_in(in, args, begin + done), stride, run, to + done);
    done += run;
  }
}

template <class T>
void store_as(const float* from, T* to, bool accumulate, std::int64_t count) {
  simd::run([=] {
    if (accumulate) {
      LEARN_VECTORIZE
      for (std::int64_t i = 0; i < count; ++i) to[i] = from_float<T>(as_float(to[i]) + from[i]);
    } else {
      LEARN_VECTORIZE
      for (std::int64_t i = 0; i < count; ++i) to[i] = from_float<T>(from[i]);
    }
  });
}

void store(const float* from, const MapOutput& out, std::int64_t begin, std::int64_t count) {
  if (out.dtype == DType::f16)
    store_as(from, static_cast<Half*>(out.data) + begin, out.accumulate, count);
  else if (out.dtype == DType::bf16)
    store_as(from, static_cast<BFloat16*>(out.data) + begin, out.accumulate, count);
  else
    store_as(from, static_cast<float*>(out.data) + begin, out.accumulate, count);
}

/// Returns whether instructions may read an input in place. An input that a result overwrites must
/// be copied, because the next result may be that input itself.
bool readable_in_place(const MapInput& in, const MapArgs& args) {
  if (!in.dense || in.dtype != DType::f32 || in.data == nullptr) return false;
  for (int k = 0; k < args.program.outputs; ++k)
    if (args.out[k].data == in.data) return false;
  return true;
}

void map_block(Block& block, const MapArgs& args, std::int64_t begin) {
  const MapProgram& program = args.program;
  for (int k = 0; k < program.instructions; ++k) {
    const MapInstruction& one = program.code[static_cast<std::size_t>(k)];
    const float* made = block.own(one.to);
    if (one.op != Op::argument)
      compute(one, block);
    else if (readable_in_place(args.in[one.a], args))
      made = static_cast<const float*>(args.in[one.a].data) + begin;
    else
      load(args.in[one.a], args, begin, block.count, block.own(one.to));
    block.operand[one.to] = made;  // set after the last use of the previous value
  }
  for (int k = 0; k < program.outputs; ++k)
    store(block.operand[program.output[static_cast<std::size_t>(k)]],
          args.out[k],
          begin,
          block.count);
}

}  // namespace

void map(const Exec& exec, const MapArgs& args) {
  const MapProgram& program = args.program;
  TaskBuffers buffers(exec.workspace, exec.threads, (program.registers + program.numbers) * kBlock);
  exec.threads.parallel_for(args.n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const TaskBuffers::Lease lease(buffers);
    Block block{.memory = lease.data(), .operand = {}};
    for (int k = 0; k < program.numbers; ++k) {
      float* values = block.own(program.registers + k);
      std::fill_n(values, std::min(kBlock, end - begin), args.number[k]);
      block.operand[MapProgram::kRegisters + k] = values;
    }
    for (std::int64_t at = begin; at < end; at += kBlock) {
      block.count = std::min(kBlock, end - at);
      map_block(block, args, at);
    }
  });
}

}  // namespace learn::cpu
