#pragma once
#include <cstdint>

namespace learn {

/// An activation function and its parameter.
struct ActivationKind {
  enum class Name : std::uint8_t { identity, relu, leaky_relu, gelu, silu };
  Name name = Name::relu;
  float slope = 0.01F;  ///< leaky_relu only: the factor of negative inputs

  [[nodiscard]] static constexpr ActivationKind identity() { return {Name::identity, 0}; }
  [[nodiscard]] static constexpr ActivationKind relu() { return {Name::relu, 0}; }
  /// PyTorch's default slope is 0.01; Darknet uses 0.1.
  [[nodiscard]] static constexpr ActivationKind leaky_relu(float slope = 0.01F) {
    return {Name::leaky_relu, slope};
  }
  /// The exact form, x * Phi(x) with the normal distribution's Phi (PyTorch's approximate='none').
  [[nodiscard]] static constexpr ActivationKind gelu() { return {Name::gelu, 0}; }
  /// x * sigmoid(x).
  [[nodiscard]] static constexpr ActivationKind silu() { return {Name::silu, 0}; }
};

[[nodiscard]] constexpr const char* name_of(const ActivationKind& kind) noexcept {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return "identity";
    case ActivationKind::Name::relu:
      return "relu";
    case ActivationKind::Name::leaky_relu:
      return "leaky_relu";
    case ActivationKind::Name::gelu:
      return "gelu";
    case ActivationKind::Name::silu:
      return "silu";
  }
  return "?";
}

}  // namespace learn
