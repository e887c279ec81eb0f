#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/simd/kernels.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/common/cpu/vector_math.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/map/map_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <bit>
#include <bitset>
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

constexpr std::int64_t kGrain = 16384;
/// Floats between the blocks of two operands. Without them, a load and a store would have the same
/// lowest bits of their addresses, and CPUs let such a load wait.
constexpr std::int64_t kGap = 80;

/// Returns how many elements an instruction computes at once: enough to amortise its dispatch, and
/// few enough that a program's registers stay in the first-level cache.
std::int64_t block_size(const MapProgram& program) {
  constexpr std::int64_t kLeast = 512;
  constexpr std::int64_t kMost = 2048;
  constexpr std::int64_t kCached = 6144;
  return std::clamp(kCached / std::max(1, program.registers + program.numbers), kLeast, kMost) /
         kLeast * kLeast;
}

/// The operands of one block, by number: registers (computed or loaded without a copy), then
/// numbers.
struct Block {
  float* memory;
  std::int64_t size;       ///< the distance of registers
  std::int64_t count = 0;  ///< its number of elements
  const float* operand[MapProgram::kRegisters + MapProgram::kNumbers];
  const float* repeated[MapProgram::kInputs];  ///< inputs that are periodic, from a period's start
  [[nodiscard]] float* own(int i) const { return memory + i * size; }
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

void compute_clamp(std::int64_t n, float* to, const float* x, const float* low, const float* high) {
  simd::run([=] {
    LEARN_VECTORIZE
    for (std::int64_t i = 0; i < n; ++i) {
      const float bounded = high[i] <= x[i] ? high[i] : x[i];
      to[i] = x[i] <= low[i] ? low[i] : bounded;
    }
  });
}

template <class F>
void choose(std::int64_t n,
            float* to,
            const float* a,
            const float* b,
            const float* chosen,
            const float* other,
            F f) {
  LEARN_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) to[i] = f(a[i], b[i]) ? chosen[i] : other[i];
}

/// Computes a selection whose condition is a comparison of `a` and `b`.
void compute_choice(Op comparison,
                    std::int64_t n,
                    float* to,
                    const float* a,
                    const float* b,
                    const float* chosen,
                    const float* other) {
  simd::run([=] {
    switch (comparison) {
      case Op::less:
        return choose(n, to, a, b, chosen, other, [](float x, float y) { return x < y; });
      case Op::less_equal:
        return choose(n, to, a, b, chosen, other, [](float x, float y) { return x <= y; });
      default:
        return choose(n, to, a, b, chosen, other, [](float x, float y) { return x == y; });
    }
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

void compute(const MapInstruction& one, const Block& block, float* to) {
  const std::int64_t n = block.count;
  const float* a = block.operand[one.a];
  const float* b = block.operand[one.b];
  switch (one.op) {
    case Op::sin:
    case Op::cos:
      return compute_sine(one.op, n, to, a);
    case Op::select:
      return compute_select(n, to, a, b, block.operand[one.c]);
    case Op::clamp:
      return compute_clamp(n, to, a, b, block.operand[one.c]);
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
      if (stride == 0) return void(std::fill_n(to, count, as_float(*from)));
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

/// Returns after how many elements an input repeats itself, if it has only its last dimension and
/// that is shorter than a block; otherwise 0.
std::int64_t period(const MapInput& in, const MapArgs& args, std::int64_t block) {
  const int last = args.dims - 1;
  if (in.dense || in.data == nullptr) return 0;
  for (int d = 0; d < last; ++d)
    if (in.strides[d] != 0) return 0;
  if (in.strides[last] == 0) return 1;
  return in.strides[last] == 1 && args.sizes[last] <= block ? args.sizes[last] : 0;
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
  else if (float* to = static_cast<float*>(out.data) + begin; to != from)
    store_as(from, to, out.accumulate, count);
}

/// Returns whether instruction k compares, and only the next one uses the result, as its condition.
bool is_condition(const MapProgram& program, int k) {
  const auto at = [&](int i) -> const MapInstruction& {
    return program.code[static_cast<std::size_t>(i)];
  };
  const std::uint8_t made = at(k).to;
  if (at(k).op < Op::less || at(k).op > Op::equal || k + 1 == program.instructions) return false;
  const MapInstruction& next = at(k + 1);
  if (next.op != Op::select || next.a != made || next.b == made || next.c == made) return false;
  bool overwritten = next.to == made;
  for (int i = k + 2; i < program.instructions && !overwritten; ++i) {
    if (at(i).op != Op::argument && (at(i).a == made || at(i).b == made || at(i).c == made))
      return false;
    overwritten = at(i).to == made;
  }
  return overwritten ||
         std::find(program.output.begin(), program.output.begin() + program.outputs, made) ==
             program.output.begin() + program.outputs;
}

/// How a map is run, the same for all blocks.
struct Plan {
  std::int64_t block;
  bool in_place = false;                                ///< a result overwrites an input
  std::int64_t periods[MapProgram::kInputs] = {};       ///< of inputs, 0 for others
  std::bitset<MapProgram::kInstructions> conditions{};  ///< comparisons to compute with a selection
  int writers[MapProgram::kOutputs];  ///< the instructions that write to results, or -1

  explicit Plan(const MapArgs& args) : block(block_size(args.program)) {
    const MapProgram& program = args.program;
    for (int i = 0; i < program.inputs; ++i) {
      periods[i] = period(args.in[i], args, block);
      for (int k = 0; k < program.outputs; ++k)
        in_place = in_place || args.out[k].data == args.in[i].data;
    }
    for (int k = 0; k < program.outputs; ++k) writers[k] = writer_of(args, k);
    for (int k = 0; k < program.instructions; ++k)
      conditions[static_cast<std::size_t>(k)] = is_condition(program, k);
  }

 private:
  /// Returns the last instruction that writes to an output's register, if it can write to the
  /// output itself.
  [[nodiscard]] int writer_of(const MapArgs& args, int output) const {
    const MapProgram& program = args.program;
    if (in_place || args.out[output].accumulate || args.out[output].dtype != DType::f32) return -1;
    int k = program.instructions - 1;
    while (k >= 0 && program.code[static_cast<std::size_t>(k)].to !=
                         program.output[static_cast<std::size_t>(output)])
      --k;
    return k;
  }
};

/// Returns whether instructions may read an input in place. An input that a result overwrites must
/// be copied, because the next result may be that input itself.
bool readable_in_place(const MapInput& in, const MapArgs& args) {
  if (!in.dense || in.dtype != DType::f32 || in.data == nullptr) return false;
  for (int k = 0; k < args.program.outputs; ++k)
    if (args.out[k].data == in.data) return false;
  return true;
}

void map_block(Block& block, const MapArgs& args, const Plan& plan, std::int64_t begin) {
  const MapProgram& program = args.program;
  for (int k = 0; k < program.instructions; ++k) {
    const MapInstruction& condition = program.code[static_cast<std::size_t>(k)];
    const bool choice = plan.conditions[static_cast<std::size_t>(k)];
    if (choice) ++k;
    const MapInstruction& one = program.code[static_cast<std::size_t>(k)];
    float* to = block.own(one.to);
    for (int output = 0; output < program.outputs; ++output)
      if (plan.writers[output] == k) to = static_cast<float*>(args.out[output].data) + begin;
    const float* made = to;
    if (choice)
      compute_choice(condition.op,
                     block.count,
                     to,
                     block.operand[condition.a],
                     block.operand[condition.b],
                     block.operand[one.b],
                     block.operand[one.c]);
    else if (one.op != Op::argument)
      compute(one, block, to);
    else if (plan.periods[one.a] != 0)
      made = block.repeated[one.a] + begin % plan.periods[one.a];
    else if (readable_in_place(args.in[one.a], args))
      made = static_cast<const float*>(args.in[one.a].data) + begin;
    else
      load(args.in[one.a], args, begin, block.count, to);
    block.operand[one.to] = made;  // set after the last use of the previous value
  }
  for (int k = 0; k < program.outputs; ++k)
    store(block.operand[program.output[static_cast<std::size_t>(k)]],
          args.out[k],
          begin,
          block.count);
}

/// Returns the dimension along which the memory of the only input continues, if the program does no
/// more than copy its floats in another order; otherwise -1.
int copied_along(const MapArgs& args) {
  const MapInput& in = args.in[0];
  const MapOutput& out = args.out[0];
  const bool copies = args.program.instructions == 1 && args.program.outputs == 1 &&
                      in.data != nullptr && in.dtype == DType::f32 && out.dtype == DType::f32 &&
                      !out.accumulate;
  for (int d = 0; copies && d < args.dims - 1; ++d)
    if (in.strides[d] == 1) return d;
  return -1;
}

/// Copies an input that is contiguous along dimension `along`, a matrix for each index of the
/// others. Pieces as long as a cache line are transposed, so that lines of the result are filled
/// one by one: rows may be a power of two apart, and few of them fit in the cache together.
void copy_transposed(ThreadPool& threads, const MapArgs& args, int along) {
  constexpr std::int64_t kRows = 16;
  constexpr std::int64_t kColumns = 64;
  const int last = args.dims - 1;
  const std::int64_t columns = args.sizes[along];
  const std::int64_t rows = args.sizes[last];
  const std::int64_t from_stride = args.in[0].strides[last];
  std::int64_t to_stride = 1;
  for (int d = along + 1; d < args.dims; ++d) to_stride *= args.sizes[d];
  // One more dimension of the others: the strips of columns.
  const std::int64_t strips = ceil_div(columns, kColumns);
  const std::int64_t inner = to_stride / rows;
  const std::int64_t count = args.n / (rows * columns) * strips;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (rows * kColumns));
  threads.parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    const auto transpose = simd::best_kernels().transpose;
    float piece[kColumns * kRows];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % strips * kColumns;
      const std::int64_t matrix = i / strips;
      const std::int64_t width = std::min(kColumns, columns - first);
      const std::int64_t at =
          (matrix / inner * columns + first) * to_stride + matrix % inner * rows;
      const float* from =
          static_cast<const float*>(args.in[0].data) + kernels::offset_in(args.in[0], args, at);
      float* to = static_cast<float*>(args.out[0].data) + at;
      for (std::int64_t r = 0; r < rows; r += kRows) {
        const std::int64_t height = std::min(kRows, rows - r);
        transpose(from + r * from_stride, from_stride, height, width, piece, kRows);
        for (std::int64_t c = 0; c < width; ++c)
          std::copy_n(piece + c * kRows, height, to + c * to_stride + r);
      }
    }
  });
}

}  // namespace

void map(const Exec& exec, const MapArgs& args) {
  if (const int along = copied_along(args); along >= 0)
    return copy_transposed(exec.threads, args, along);
  const MapProgram& program = args.program;
  const Plan plan(args);
  std::int64_t repeated = 0;
  for (const std::int64_t length : plan.periods) repeated += length == 0 ? 0 : plan.block + length;
  const std::int64_t registers = (program.registers + program.numbers) * (plan.block + kGap);
  TaskBuffers buffers(exec.workspace, exec.threads, registers + repeated);
  exec.threads.parallel_for(args.n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const TaskBuffers::Lease lease(buffers);
    Block block{.memory = lease.data(), .size = plan.block + kGap, .operand = {}, .repeated = {}};
    const std::int64_t most = std::min(plan.block, end - begin);
    for (int k = 0; k < program.numbers; ++k) {
      float* values = block.own(program.registers + k);
      std::fill_n(values, most, args.number[k]);
      block.operand[MapProgram::kRegisters + k] = values;
    }
    float* next = block.memory + registers;
    for (int i = 0; i < program.inputs; ++i) {
      if (plan.periods[i] == 0) continue;
      load(args.in[i], args, 0, most + plan.periods[i], next);
      block.repeated[i] = next;
      next += plan.block + plan.periods[i];
    }
    for (std::int64_t at = begin; at < end; at += plan.block) {
      block.count = std::min(plan.block, end - at);
      map_block(block, args, plan, at);
    }
  });
}

}  // namespace learn::cpu
