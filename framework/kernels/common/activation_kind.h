#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace learn {

/// An activation function and its parameter.
struct ActivationKind {
  enum class Name : std::uint8_t {
    identity,
    relu,
    leaky_relu,
    relu6,
    gelu,
    silu,
    hardsigmoid,
    hardswish,
    gelu_tanh,
    mish
  };
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
  /// Returns min(max(x + 3, 0), 6) / 6.
  [[nodiscard]] static constexpr ActivationKind hardsigmoid() { return {Name::hardsigmoid, 0}; }
  /// Returns x * hardsigmoid(x).
  [[nodiscard]] static constexpr ActivationKind hardswish() { return {Name::hardswish, 0}; }
  /// Returns 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), which differs from gelu by
  /// up to 0.00048 (PyTorch's approximate='tanh').
  [[nodiscard]] static constexpr ActivationKind gelu_tanh() { return {Name::gelu_tanh, 0}; }
  /// Returns x * tanh(log(1 + exp(x))).
  [[nodiscard]] static constexpr ActivationKind mish() { return {Name::mish, 0}; }
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
    NamedActivation{ActivationKind::hardsigmoid(), "hardsigmoid"},
    NamedActivation{ActivationKind::hardswish(), "hardswish"},
    NamedActivation{ActivationKind::gelu_tanh(), "gelu_tanh"},
    NamedActivation{ActivationKind::mish(), "mish"},
};

/// Whether it takes a few comparisons and a product, so that loops of other operations compute it,
/// too. On the CPU a separate loop computes the others.
[[nodiscard]] constexpr bool is_brief(const ActivationKind& kind) noexcept {
  return kind.name <= ActivationKind::Name::relu6;
}

/// Whether its derivative jumps somewhere.
[[nodiscard]] constexpr bool has_kinks(const ActivationKind& kind) noexcept {
  return kind.name == ActivationKind::Name::hardsigmoid ||
         kind.name == ActivationKind::Name::hardswish ||
         (is_brief(kind) && kind.name != ActivationKind::Name::identity);
}

[[nodiscard]] constexpr const char* name_of(const ActivationKind& kind) {
  return kActivations.at(static_cast<std::size_t>(kind.name)).name;
}

}  // namespace learn
