#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace learn {

/// Learning rates that fastai's four rules read out of a sweep. Nothing where the curve is too
/// short for a rule.
struct LrSuggestions {
  std::optional<double> valley;   ///< two thirds down the longest descent
  std::optional<double> slide;    ///< before the loss changes fast at the end
  std::optional<double> minimum;  ///< a tenth of the rate with the lowest loss
  std::optional<double> steep;    ///< where the loss falls fastest
  /// How far the loss falls at most where the rules look, as a share of the value it falls from.
  double fall = 0;

  /// All four with their names.
  [[nodiscard]] std::array<std::pair<std::string_view, std::optional<double>>, 4> named() const;
};

/// Returns fastai's suggestions after a sweep of `iterations`, computed from the curve without its
/// first tenth, its last five points and everything after a NaN. Both vectors have the same length;
/// losses are smoothed. Computes in f32, as fastai does.
[[nodiscard]] LrSuggestions suggest_lrs(const std::vector<double>& lrs,
                                        const std::vector<double>& losses,
                                        std::int64_t iterations);

}  // namespace learn
