#pragma once
#include <cstdint>

namespace learn {

/// How the loss scale moves. The defaults are fastai 1's (max_noskip = 1000, max_scale = 2^24) with
/// a floor, below which no scale can help. Factors and interval are torch.amp.GradScaler's by name,
/// hysteresis is apex's (update_scale_hysteresis).
struct LossScaleOptions {
  bool dynamic = true;
  float growth_factor = 2;
  float backoff_factor = 0.5F;
  std::int64_t growth_interval = 1000;  ///< clean steps until the scale grows
  std::int64_t hysteresis = 1;          ///< overflows in a row from which on the scale shrinks
  float floor = 1;
  float ceiling = 0x1p24F;
  bool operator==(const LossScaleOptions&) const = default;
};

}  // namespace learn
