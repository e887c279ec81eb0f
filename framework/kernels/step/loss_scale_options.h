#pragma once
#include <cstdint>

namespace learn {

/// How the loss scale moves. The defaults are fastai 1's (max_noskip = 1000, max_scale = 2^24) with
/// a floor, below which no scale can help.
struct LossScaleOptions {
  bool dynamic = true;
  float factor = 2;
  std::int64_t growth_interval = 1000;
  float floor = 1;
  float ceiling = 0x1p24F;
};

}  // namespace learn
