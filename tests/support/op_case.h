#pragma once
#include "framework/autograd/tape.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// One declaration per operation serves all its checks: gradients, parity, determinism, bounds.
namespace learn::test {

/// One operand of an operation and how its values are drawn.
struct OpInput {
  enum class Role : std::uint8_t {
    gradient,  ///< a leaf whose gradient is checked
    constant,  ///< a value without a gradient
    state,     ///< changed by the operation (running statistics): compared like an output
  };
  std::string name;
  Shape shape;
  double low = -1;  ///< values are uniform in [low, high)
  double high = 1;
  Role role = Role::gradient;
  /// No value comes closer to one of these than a hundredth of the range: there the derivative
  /// jumps.
  std::vector<double> kinks = {};
  /// The values are a shuffled grid, so that none are equal: where the order decides (max pooling).
  bool distinct = false;
  std::vector<double> values = {};  ///< instead of drawn ones
  bool full_precision = false;      ///< stays f32 when the case runs in f16 or bf16
  std::optional<DType> dtype = {};  ///< always this type (class numbers: i64)
};

/// An operation with its operands; the attributes are what `call` captures.
struct OpCase {
  std::string name;
  std::vector<OpInput> inputs;
  /// The operation. Must depend only on the operands, the tape and its captures.
  std::function<Var(Tape&, std::span<const Var>)> call;
  /// The longest sum of the forward and backward pass, for the rounding it may gather.
  std::int64_t reduction = 1;
  /// Parity: what is allowed, in units of the dtype's epsilon (see `check_parity`).
  double units = 2;
  /// Gradients: relative error against central differences in double.
  double gradient_tolerance = 1e-6;
  /// Something inside has kinks that values of the inputs do not show (a fused relu): elements
  /// whose one-sided differences disagree are left out, at most a tenth of them.
  bool inner_kinks = false;
  ForwardMode mode = ForwardMode::train;
};

/// The dtype an input has when its case runs in `dtype`.
[[nodiscard]] DType dtype_of(const OpInput& input, DType dtype);

/// The values of all inputs, one list each. They depend on the case and the seed alone.
using OpValues = std::vector<std::vector<double>>;
[[nodiscard]] OpValues draw_values(const OpCase& op, std::uint64_t seed);
/// Inputs rounded to the values that each can hold in `dtype`.
[[nodiscard]] OpValues round_values(const OpCase& op, OpValues values, DType dtype);

/// Results of one forward and backward pass, in the order of the inputs.
struct OpRun {
  Tensor output;
  std::vector<Tensor> grads;   ///< undefined without one
  std::vector<Tensor> states;  ///< undefined without one
};

struct OpRunOptions {
  DType dtype = DType::f64;
  bool backward = true;
  /// Add to gradients that hold `start_value(i)` instead of overwriting NaN.
  bool accumulate = false;
  std::uint64_t seed = 0;  ///< of the cotangent
};

/// Runs the case once, on the context's device; what it yields is on the host. The gradient of each
/// leaf is that of sum(cotangent * output).
[[nodiscard]] OpRun run_op(Context& ctx,
                           const OpCase& op,
                           const OpValues& values,
                           const OpRunOptions& options);

/// Element `i` of the cotangent, and of a gradient that is accumulated into: multiples of 1/64 in
/// [-1, 1], exact in every dtype.
[[nodiscard]] double cotangent_value(std::uint64_t seed, std::int64_t i);
[[nodiscard]] double start_value(std::int64_t i);

/// A context whose arenas find writes out of bounds (the program ends) and show reads of memory
/// that was never written as NaN.
[[nodiscard]] ContextOptions guarded(int threads = 1, bool reference = false);

/// A context on the first CUDA device in which every tensor is a separate allocation.
[[nodiscard]] ContextOptions on_cuda();

/// The seed of the random tests: LEARN_TEST_SEED, or a fixed one.
[[nodiscard]] std::uint64_t test_seed();

}  // namespace learn::test
