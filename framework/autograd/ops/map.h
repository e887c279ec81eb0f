#pragma once
#include "framework/autograd/autocast.h"
#include "framework/autograd/var.h"
#include "framework/kernels/map/expression.h"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace learn::kernels {
struct MapProgram;
}

namespace learn::ops {

/// An expression that is ready to be mapped, again and again: compiled once, its derivatives when
/// they are first needed. Copies share that. Safe to use from several threads.
class MapFunction {
 public:
  static constexpr int kOperands = 12;

  /// `name` is that of the operation, in messages and on the tape; it must live as long as the
  /// program. Throws UsageError for an expression that exceeds what `kernels::MapProgram` can
  /// hold or has more than `kOperands` arguments.
  explicit MapFunction(const Expr& value, const char* name = "map");

  [[nodiscard]] const char* name() const noexcept;
  /// How many arguments it has.
  [[nodiscard]] int operands() const noexcept;
  [[nodiscard]] const kernels::MapProgram& value() const noexcept;
  /// Returns whether a derivative can be simpler if the value is known.
  [[nodiscard]] bool has_slope_of_value() const noexcept;
  /// The derivatives by the arguments whose bits are set in `wanted`, from the lowest on; their
  /// inputs are the operands, followed by the gradient of the value. Throws UsageError if it
  /// exceeds what a program can hold. With `from_value` the value is one more input, the last.
  [[nodiscard]] const kernels::MapProgram& gradient(std::uint32_t wanted,
                                                    bool from_value = false) const;

 private:
  struct Compiled;
  std::shared_ptr<Compiled> compiled_;
};

/// y[i] = f(operands[i]...), with gradients, in one pass over memory on any device (ADR 0031).
/// Operands are broadcast as in NumPy; a gradient is summed over what was repeated. Floating
/// operands have one dtype, which is that of y, or f32 is if they differ; whole numbers may be
/// among them and have no gradient. Halves are computed in f32 and rounded once. Under autocast,
/// `cast_class` decides. Throws ShapeError if shapes do not fit, DTypeError where f64 is mixed with
/// another floating dtype, UsageError for fewer operands than f has arguments.
[[nodiscard]] Var map(const MapFunction& f,
                      std::span<const Var> operands,
                      CastClass cast_class = CastClass::widest);

/// Applies an expression that is used once:
///
///     const Expr a = expr::arg(0), b = expr::arg(1);
///     const Var y = ops::map(a * exp(-b), {u, v});
[[nodiscard]] inline Var map(const Expr& f, std::initializer_list<Var> operands) {
  return map(MapFunction(f), std::span(operands.begin(), operands.size()));
}

/// And for one that is written where it is used:
///
///     const Var y = ops::map([](const Expr& a, const Expr& b) { return a * exp(-b); }, u, v);
template <class F, std::same_as<Var>... Vars>
requires(sizeof...(Vars) > 0 && std::invocable<F, decltype((void)Vars(), expr::arg(0))...>)
    [[nodiscard]] Var map(F&& f, const Vars&... operands) {
  const Var all[] = {operands...};
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return map(MapFunction(f(expr::arg(i)...)), std::span<const Var>(all));
  }
  (std::make_integer_sequence<int, static_cast<int>(sizeof...(Vars))>());
}

}  // namespace learn::ops
