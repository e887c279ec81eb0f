#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace learn {

/// An activation function and its parameter.
struct ActivationKind {
  enum class Name : std::uint8_t { identity, relu, leaky_relu, relu6, gelu, silu };
  Name name = Name::relu;
  float slope = 0.01F;  ///< leaky_relu only: the factor of negative inputs

  [[nodiscard]] static constexpr ActivationKind identity() { return {Name::identity, 0}; }
  [[nodiscard]] static constexpr ActivationKind relu() { return {Name::relu, 0}; }
  /// Returns leaky relu. PyTorch's default slope is 0.01; Darknet uses 0.1.
  [[nodiscard]] static constexpr ActivationKind leaky_relu(float slope = 0.01F) {
    return {Name::leaky_relu, slope};
  }
  /// Returns min(max(x, 0), 6).
  [[nodiscard]] static constexpr ActivationKind relu6() { return {Name::relu6, 0}; }
  /// Returns the exact form, x * Phi(x) with the normal distribution's Phi (PyTorch's
  /// approximate='none').
  [[nodiscard]] static constexpr ActivationKind gelu() { return {Name::gelu, 0}; }
  /// Returns x * sigmoid(x).
  [[nodiscard]] static constexpr ActivationKind silu() { return {Name::silu, 0}; }
};

/// An activation and its user-visible name.
struct NamedActivation {
  ActivationKind kind;
  const char* name;
};
/// All activations, in the order of ActivationKind::Name. Tests of properties that every activation
/// must have iterate over this list.
inline constexpr std::array kActivations{
    NamedActivation{ActivationKind::identity(), "identity"},
    NamedActivation{ActivationKind::relu(), "relu"},
    NamedActivation{ActivationKind::leaky_relu(), "leaky_relu"},
    NamedActivation{ActivationKind::relu6(), "relu6"},
    NamedActivation{ActivationKind::gelu(), "gelu"},
    NamedActivation{ActivationKind::silu(), "silu"},
};

/// Returns false for the piecewise linear ones.
[[nodiscard]] constexpr bool is_smooth(const ActivationKind& kind) noexcept {
  return kind.name == ActivationKind::Name::gelu || kind.name == ActivationKind::Name::silu;
}

[[nodiscard]] constexpr const char* name_of(const ActivationKind& kind) {
  return kActivations.at(static_cast<std::size_t>(kind.name)).name;
}

}  // namespace learn
