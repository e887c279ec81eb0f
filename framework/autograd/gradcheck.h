#pragma once
#include "framework/autograd/tape.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

/// Finds wrong gradients of your own operation or of a whole network:
///
///     const GradientReport report = check_gradients(
///         [](Tape&, std::span<const Var> in) { return my_op(in[0], in[1]); },
///         {{"x", {4, 3}, x_values}, {"w", {3}, w_values}});
///     if (!report) fmt::print("{}\n", report.text());
namespace learn {

/// An operand, in double, or of whole numbers.
struct GradientInput {
  std::string name;
  Shape shape;
  std::vector<double> values;
  bool checked = true;       ///< false: the operation takes it, and its gradient is not looked at
  DType dtype = DType::f64;  ///< another one for class numbers: i64; not checked then
};

struct GradientCheckOptions {
  /// Relative to the element's slope or to the root of the mean square of the input's gradient,
  /// whichever is larger.
  double tolerance = 1e-6;
  /// Central differences are over 2 * step, times the element where that is above 1. Their error
  /// falls with its square, and rounding grows as it falls: near 1e-10 here.
  double step = 1e-5;
  /// Number of random elements that are checked in larger inputs.
  std::int64_t elements = 150;
  /// Seed of the random weights of the output and of the choice of elements.
  std::uint64_t seed = 20240;
  /// Leaves out elements where the slopes to the left and to the right differ, as those of relu do
  /// at 0; more than a tenth of them is an error.
  bool skip_kinks = false;
  ForwardMode mode = ForwardMode::train;
};

/// An element whose gradients disagree.
struct GradientMismatch {
  std::string input;
  std::int64_t element = 0;        ///< in the order of memory
  std::vector<std::int64_t> at{};  ///< the same, along each dimension
  bool accumulated =
      false;  ///< accumulated into the gradient, otherwise overwriting it; both are tested
  double analytic = 0;  ///< what backward gives
  double numeric = 0;   ///< what differences of the output give
  double allowed = 0;   ///< allowed difference
};

struct GradientReport {
  std::int64_t elements = 0;  ///< that were compared
  std::int64_t kinks = 0;     ///< of them, left out
  bool too_many_kinks = false;
  std::vector<GradientMismatch> wrong{};
  /// Whether all agree.
  explicit operator bool() const noexcept { return wrong.empty() && !too_many_kinks; }
  /// Lines for people: the verdict, and the first few that are wrong.
  [[nodiscard]] std::string text() const;
};

/// The operation: from a tape and the inputs on it to a value of any shape, which must depend on
/// nothing else.
using CheckedFunction = std::function<Var(Tape&, std::span<const Var>)>;

/// The gradients that `f` gives to its checked inputs, in double on the CPU, against central
/// differences of its output, summed with random weights. Runs backward twice: overwriting
/// gradients that hold NaN, so that an element which is never written shows, and adding to
/// gradients that are not 0. Memory is guarded: a write out of bounds ends the program. Throws
/// ShapeError for as many values as its shape does not have, UsageError where nothing is checked.
[[nodiscard]] GradientReport check_gradients(const CheckedFunction& f,
                                             const std::vector<GradientInput>& inputs,
                                             const GradientCheckOptions& options = {});

}  // namespace learn
