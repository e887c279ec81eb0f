#pragma once
#include "framework/learner/find/lr_suggestions.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace learn {

/// Leslie Smith's range test with fastai's constants.
struct LrFindOptions {
  double start = 1e-7;  ///< rate of the first update
  double end = 10;      ///< where update number `iterations` would be; the last one is before it
  std::int64_t iterations = 100;  ///< updates, at least 6
  bool stop = true;               ///< end early when the loss explodes
};

/// Why a sweep ended.
enum class LrFindEnd : std::uint8_t {
  done,         ///< all rates were tried
  exploded,     ///< the smoothed loss was above `kLrFindStop` times the lowest one
  not_finite,   ///< the loss was infinite or NaN
  interrupted,  ///< a callback ended the training: Ctrl-C
};
/// The smoothed loss at which a sweep ends, as a multiple of the lowest one (fastai's).
inline constexpr double kLrFindStop = 4;
/// Weight of the past in the smoothed loss (fastai's).
inline constexpr double kLrFindBeta = 0.98;

struct LrFindResult {
  std::vector<double> lrs;       ///< of the last layer group, one for each update
  std::vector<double> losses;    ///< mean over the samples of the update's batches
  std::vector<double> smoothed;  ///< exponential mean of the losses, bias-corrected
  std::int64_t skipped = 0;      ///< updates not made, as a gradient was not finite
  LrFindEnd ended = LrFindEnd::done;
  LrSuggestions suggestions;

  /// "the smoothed loss came to 4 times its lowest value at a rate of 0.52".
  [[nodiscard]] std::string why() const;
  /// Reason not to follow the suggestions, such as "the sweep was interrupted"; empty if the loss
  /// fell and then stopped falling or exploded, so that there is a valley.
  [[nodiscard]] std::string doubt() const;
};

}  // namespace learn
