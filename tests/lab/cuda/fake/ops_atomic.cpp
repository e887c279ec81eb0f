// atom and red, on global and shared memory.
#include "tests/lab/cuda/fake/block.h"
#include "tests/lab/cuda/fake/functors.h"
#include "tests/lab/cuda/fake/ops.h"
#include "tests/lab/cuda/fake/ops_memory.h"
#include "tests/lab/cuda/fake/rounding.h"
#include "tests/lab/cuda/fake/survey.h"

#include <cstring>
#include <functional>

namespace fakecuda {
namespace {

struct Exchange {
  template <class T>
  T operator()(T, T b) const {
    return b;
  }
};
struct Increment {
  template <class T>
  T operator()(T a, T b) const {
    return a >= b ? T{0} : static_cast<T>(a + 1);
  }
};
struct Decrement {
  template <class T>
  T operator()(T a, T b) const {
    return a == 0 || a > b ? b : static_cast<T>(a - 1);
  }
};
struct AddHalf {
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    const double sum = static_cast<double>(f16_to_float(a)) + f16_to_float(b);
    return f16_of(round_to(sum, kHalf, Rounding::nearest));
  }
};
struct AddBFloat {
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    const double sum = static_cast<double>(bf16_to_float(a)) + bf16_to_float(b);
    return bf16_of(round_to(sum, kBFloat, Rounding::nearest));
  }
};
template <class F>
struct Pairwise {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    const auto low = F{}(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b));
    const auto high =
        F{}(static_cast<std::uint16_t>(a >> 16U), static_cast<std::uint16_t>(b >> 16U));
    return static_cast<std::uint32_t>(high) << 16U | low;
  }
};

std::uint64_t address(const Warp& warp, const Instruction& instruction, int lane) {
  const std::uint64_t base = instruction.register_bytes == 4
                                 ? warp.in<std::uint32_t>(instruction, 0)[lane]
                                 : warp.in<std::uint64_t>(instruction, 0)[lane];
  return base + static_cast<std::uint64_t>(instruction.offset);
}

template <class T, class NewValue>
void update(Warp& warp, const Instruction& instruction, std::uint32_t lanes, NewValue new_value) {
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte* const p = warp.block().access(
        warp, instruction, lane, address(warp, instruction, lane), sizeof(T), Access::atomic);
    T old;
    std::memcpy(&old, p, sizeof(T));
    const T value = new_value(old, lane);
    // Values in a survey are meaningless, so flags must not depend on them.
    if (!surveying()) std::memcpy(p, &value, sizeof(T));
    if (instruction.outs != 0) warp.out<T>(instruction)[lane] = old;
  }
}

template <class T, class F>
void atomic(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const T* const operand = warp.in<T>(instruction, 1);
  update<T>(warp, instruction, lanes, [&](T old, int lane) { return F{}(old, operand[lane]); });
}

template <class T>
void compare_and_swap(Warp& warp, const Instruction& instruction, std::uint32_t lanes) {
  const T* const expected = warp.in<T>(instruction, 1);
  const T* const desired = warp.in<T>(instruction, 2);
  update<T>(warp, instruction, lanes, [&](T old, int lane) {
    return old == expected[lane] ? desired[lane] : old;
  });
}

Handler add_handler(Decoding& d) {
  switch (d.type()) {
    case Type::f32:
      return atomic<float, std::plus<>>;
    case Type::f64:
      return atomic<double, std::plus<>>;
    case Type::f16:
      return d.take("noftz") ? atomic<std::uint16_t, AddHalf> : nullptr;
    case Type::bf16:
      return d.take("noftz") ? atomic<std::uint16_t, AddBFloat> : nullptr;
    case Type::f16x2:
      return d.take("noftz") ? atomic<std::uint32_t, Pairwise<AddHalf>> : nullptr;
    case Type::bf16x2:
      return d.take("noftz") ? atomic<std::uint32_t, Pairwise<AddBFloat>> : nullptr;
    default:
      return for_integer(d.type(), []<class T>() -> Handler { return atomic<T, integer::Add>; });
  }
}

template <class F>
Handler on_integers(Decoding& d) {
  if (bytes_of(d.type()) < 4) return nullptr;
  return for_integer(d.type(), []<class T>() -> Handler { return atomic<T, F>; });
}

Handler operation(Decoding& d) {
  if (d.take("add")) return add_handler(d);
  if (d.take("min")) return on_integers<integer::Min>(d);
  if (d.take("max")) return on_integers<integer::Max>(d);
  if (d.take("and")) return on_integers<integer::And>(d);
  if (d.take("or")) return on_integers<integer::Or>(d);
  if (d.take("xor")) return on_integers<integer::Xor>(d);
  if (d.take("exch")) return on_integers<Exchange>(d);
  if (d.take("inc")) return d.type() == Type::u32 ? atomic<std::uint32_t, Increment> : nullptr;
  if (d.take("dec")) return d.type() == Type::u32 ? atomic<std::uint32_t, Decrement> : nullptr;
  if (d.take("cas"))
    return for_integer(d.type(), []<class T>() -> Handler { return compare_and_swap<T>; });
  return nullptr;
}

}  // namespace

Handler decode_atomic(Decoding& d) {
  const bool returns = d.opcode() == "atom";
  if ((!returns && d.opcode() != "red") || d.types() != 1) return nullptr;
  take_space(d);
  d.take("relaxed");
  if (!d.take("cta") && !d.take("gpu")) d.take("sys");
  d.result.type = d.type();
  const int bytes = bytes_of(d.type());
  std::size_t at = 0;
  if (returns) d.out(at++, bytes);
  d.in_address(at++);
  for (; at < d.operands(); ++at) d.in(at, bytes);
  const bool swap = d.result.ins == 3;
  const Handler handler = operation(d);
  const bool is_swap = handler != nullptr && d.result.ins == 3;
  return swap == is_swap ? handler : nullptr;
}

}  // namespace fakecuda
