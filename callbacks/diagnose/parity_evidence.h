#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// Evidence for the findings of a parity audit, as values; parity_sentences.cpp turns it into
/// words. Shares are of 1; scales are exponents of 2.
namespace learn::callbacks::parity {

/// A gradient of the finding's layer.
struct Gradient {
  bool of_weights = false;
  std::vector<std::string> readers{};  ///< modules that read the output: see ParityLayer::readers
};

/// The fp32 loss before the first update. The finding's layer is the first whose output is not
/// finite.
struct LossNotFinite {};
/// The fp32 loss at first and in the finding's step.
struct LossDiverges {
  double first = 0;
  double now = 0;
};
struct OutputOverflows {
  double share = 0;
  double largest = 0;  ///< magnitude in fp32
  /// The smallest module around the layer whose output fits in a half; empty if no such module
  /// exists.
  std::string holder;
};
struct GradientOverflows {
  std::optional<Gradient> gradient;  ///< unset: steps were skipped, and no layer is to blame
  std::size_t skipped = 0;           ///< steps
  std::size_t due = 0;               ///< steps
  float loss_scale = 1;
  double highest_scale = 0;
};
struct OutputOff {
  double error = 0;
  double input_error = 0;
  double tolerance = 0;             ///< difference explained by rounding
  std::optional<double> too_small;  ///< share, if that is the reason
};
struct GradientOff {
  Gradient gradient;
  double error = 0;
  double cosine = 1;
  float loss_scale = 1;
  /// Set if underflow is the reason.
  struct Underflow {
    double zero = 0;
    double subnormal = 0;
    double needed_scale = 0;
    double highest_scale = 0;
  };
  std::optional<Underflow> underflow;
};
struct UpdateGrows {
  std::optional<double> times;  ///< length relative to fp32; unset: the update is not finite
  double emptied = 0;           ///< share of `state` that is zero in half but not in fp32
  std::string state;
};
struct UpdateLost {
  double left = 0;  ///< share of the total length of all updates
  double lr = 0;
  double zero = 0;           ///< share of the weights that should change, over all layers
  double zero_in_layer = 0;  ///< the same share in the finding's layer
};

using Evidence = std::variant<LossNotFinite,
                              LossDiverges,
                              OutputOverflows,
                              GradientOverflows,
                              OutputOff,
                              GradientOff,
                              UpdateGrows,
                              UpdateLost>;

}  // namespace learn::callbacks::parity
