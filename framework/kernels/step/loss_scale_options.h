#pragma once
#include <cstdint>

namespace learn {

/// Rules for changing the loss scale. The defaults are those in fastai 1 (max_noskip = 1000,
/// max_scale = 2^24), plus a floor below which no scale can help. Factors and interval have the
/// names of torch.amp.GradScaler; hysteresis comes from apex (update_scale_hysteresis).
struct LossScaleOptions {
  bool dynamic = true;
  float growth_factor = 2;
  float backoff_factor = 0.5F;
  std::int64_t growth_interval = 1000;  ///< clean steps until the scale grows
  std::int64_t hysteresis = 1;  ///< number of consecutive overflows from which on the scale shrinks
  float floor = 1;
  float ceiling = 0x1p24F;
  bool operator==(const LossScaleOptions&) const = default;
};

}  // namespace learn
