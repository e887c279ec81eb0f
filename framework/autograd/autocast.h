#pragma once
#include "framework/autograd/tape.h"
#include "framework/kernels/common/activation_kind.h"

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace learn {

/// How an operation casts its inputs under autocast (ADR 0019). f64 and integers are never cast.
enum class CastClass : std::uint8_t {
  half,    ///< to the half of the region: what matrix units are fast at
  full,    ///< to f32: what loses digits, overflows or sums up
  widest,  ///< to f32 if one of them is f32: inputs must agree
  given,   ///< left unchanged
};

struct CastRule {
  std::string_view op;
  CastClass cast_class = CastClass::given;
};

namespace autocast_detail {

/// One rule for each operation of `ops`, by class; that of "activation" is for each of
/// kActivations. They are PyTorch's (torch/amp, CUDA op
/// reference) for every operation that both have; tests/autograd/autocast_test.cpp compares them.
inline constexpr std::array kWrittenRules{
    CastRule{"conv2d", CastClass::half},
    CastRule{"linear", CastClass::half},
    CastRule{"matmul", CastClass::half},
    CastRule{"mse", CastClass::full},
    CastRule{"softmax_cross_entropy", CastClass::full},
    CastRule{"sum", CastClass::full},
    CastRule{"mean", CastClass::full},
    CastRule{"exp", CastClass::full},
    CastRule{"log", CastClass::full},
    CastRule{"pow", CastClass::full},
    CastRule{"softplus", CastClass::full},
    CastRule{"layer_norm", CastClass::full},
    CastRule{"rms_norm", CastClass::full},
    CastRule{"softmax", CastClass::full},
    CastRule{"log_softmax", CastClass::full},
    CastRule{"add", CastClass::widest},
    CastRule{"mul", CastClass::widest},
    CastRule{"sub", CastClass::widest},
    CastRule{"div", CastClass::widest},
    CastRule{"minimum", CastClass::widest},
    CastRule{"maximum", CastClass::widest},
    CastRule{"map", CastClass::widest},
    CastRule{"add_bias", CastClass::widest},
    CastRule{"concat", CastClass::widest},
    // Its parameters and statistics are f32 whatever x is; x and the residual must agree.
    CastRule{"batch_norm", CastClass::widest},
    // Norms are summed in f32 whatever v is, and g is f32; f32 weights are cast where they are
    // used.
    CastRule{"weight_norm", CastClass::given},
    CastRule{"activation", CastClass::given},
    CastRule{"scale", CastClass::given},
    CastRule{"abs", CastClass::given},
    CastRule{"sqrt", CastClass::given},
    CastRule{"clamp", CastClass::given},
    CastRule{"sigmoid", CastClass::given},
    CastRule{"sin", CastClass::given},
    CastRule{"cos", CastClass::given},
    CastRule{"tanh", CastClass::given},
    CastRule{"max", CastClass::given},
    CastRule{"min", CastClass::given},
    CastRule{"slice", CastClass::given},
    CastRule{"permute", CastClass::given},
    CastRule{"dropout", CastClass::given},
    CastRule{"max_pool2d", CastClass::given},
    CastRule{"avg_pool2d", CastClass::given},
    CastRule{"reshape", CastClass::given},
    CastRule{"cast", CastClass::given},
};

}  // namespace autocast_detail

/// One rule for each operation of `ops`, by class.
inline constexpr auto kCastRules = [] {
  // One row becomes as many as there are activations, without the identity.
  std::array<CastRule, autocast_detail::kWrittenRules.size() + kActivations.size() - 2> rules{};
  std::size_t next = 0;
  for (const CastRule& rule : autocast_detail::kWrittenRules) {
    if (rule.op != "activation") {
      rules.at(next++) = rule;
      continue;
    }
    for (std::size_t i = 1; i < kActivations.size(); ++i)
      rules.at(next++) = {kActivations.at(i).name, rule.cast_class};
  }
  return rules;
}();

/// The class of an operation of the table; one that it does not have does not compile.
[[nodiscard]] consteval CastClass cast_class(std::string_view op) {
  std::size_t i = 0;
  while (kCastRules.at(i).op != op) ++i;
  return kCastRules.at(i).cast_class;
}

/// "half", "f32", "widest", "as given".
[[nodiscard]] std::string_view text_of(CastClass cast_class) noexcept;

namespace autocast_detail {

/// Casts in place; false if all inputs already have the right dtype. Undefined ones stay undefined.
[[nodiscard]] bool cast_inputs(CastClass cast_class, std::span<Var> inputs);

}  // namespace autocast_detail

/// The inputs as an operation of `cast_class` takes them, or nothing if they already are what it
/// takes: always so outside an autocast region, where this costs a look at a flag. A parameter is
/// cast once per step however often it is used. Call it first in an operation, which then calls
/// itself:
///
///     Var my_product(const Var& a, const Var& b) {
///       if (const auto cast = autocast(CastClass::half, a, b))
///         return my_product((*cast)[0], (*cast)[1]);
template <std::same_as<Var>... Vars>
[[nodiscard]] std::optional<std::array<Var, sizeof...(Vars) + 1>> autocast(CastClass cast_class,
                                                                           const Var& first,
                                                                           const Vars&... others) {
  if (!first.tape().autocast()) return std::nullopt;
  std::array<Var, sizeof...(Vars) + 1> inputs{first, others...};
  if (!autocast_detail::cast_inputs(cast_class, inputs)) return std::nullopt;
  return inputs;
}

/// Does this for any number of inputs; empty if no cast is needed.
[[nodiscard]] std::vector<Var> autocast(CastClass cast_class, std::span<const Var> inputs);

/// Autocast to f16 or bf16, or none at all, for the operations that are recorded during its
/// lifetime. Regions may be nested: the innermost counts. The backward pass of an operation runs in
/// the dtypes of its forward pass, inside or outside of any region.
class AutocastRegion {
 public:
  /// Throws DTypeError for a dtype that is not half.
  AutocastRegion(Tape& tape, std::optional<DType> dtype);
  ~AutocastRegion() { tape_.set_autocast(before_); }
  AutocastRegion(const AutocastRegion&) = delete;
  AutocastRegion& operator=(const AutocastRegion&) = delete;

 private:
  Tape& tape_;
  std::optional<DType> before_;
};

}  // namespace learn
