#pragma once
#include "framework/kernels/common/activation_kind.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace learn::exported {

/// An activation in the notation of other runtimes.
struct ActivationForm {
  std::string_view name;
  std::string_view pytorch;  ///< the call: a format of its operand and the slope
  /// Nodes, "RESULT = TYPE OPERAND..." separated by semicolons. An operand is x, an earlier result,
  /// a number, or `slope`, which is the attribute alpha. The last result is y.
  std::string_view onnx;
};

/// One form for each activation except `identity`, in the order of the activations.
inline constexpr std::array kActivationForms{
    ActivationForm{"relu", "F.relu({})", "y = Relu x"},
    ActivationForm{"leaky_relu", "F.leaky_relu({}, {})", "y = LeakyRelu x slope"},
    ActivationForm{"relu6", "F.relu6({})", "y = Clip x 0 6"},
    // The operator Gelu requires a later opset. The number is 1 / sqrt(2).
    ActivationForm{"gelu",
                   "F.gelu({})",
                   "scaled = Mul x 0.7071067811865475; erf = Erf scaled; sum = Add erf 1; "
                   "doubled = Mul x sum; y = Mul doubled 0.5"},
    ActivationForm{"silu", "F.silu({})", "sigmoid = Sigmoid x; y = Mul x sigmoid"},
    // The attributes of HardSigmoid are 0.2 and 0.5 unless given, and only alpha can be given here.
    ActivationForm{"hardsigmoid",
                   "F.hardsigmoid({})",
                   "sum = Add x 3; limited = Clip sum 0 6; y = Div limited 6"},
    ActivationForm{"hardswish", "F.hardswish({})", "y = HardSwish x"},
    ActivationForm{"gelu_tanh",
                   "F.gelu({}, approximate='tanh')",
                   "square = Mul x x; cube = Mul square x; part = Mul cube 0.044715; "
                   "whole = Add x part; scaled = Mul whole 0.7978845608028654; "
                   "tanh = Tanh scaled; sum = Add tanh 1; doubled = Mul x sum; "
                   "y = Mul doubled 0.5"},
    ActivationForm{"mish", "F.mish({})", "soft = Softplus x; tanh = Tanh soft; y = Mul x tanh"},
};

static_assert(
    [] {
      for (std::size_t i = 1; i < kActivations.size(); ++i)
        if (kActivationForms.at(i - 1).name != std::string_view(kActivations[i].name)) return false;
      return kActivationForms.size() + 1 == kActivations.size();
    }(),
    "each activation needs a form");

/// Returns null for an operation that is not an activation.
[[nodiscard]] constexpr const ActivationForm* activation_form(std::string_view op) {
  for (const ActivationForm& form : kActivationForms)
    if (form.name == op) return &form;
  return nullptr;
}

}  // namespace learn::exported
