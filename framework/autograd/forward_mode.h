#pragma once
#include <cstdint>

namespace learn {

/// Carried by the tape, so no module has a flag that could be left in the wrong state.
enum class ForwardMode : std::uint8_t {
  train,
  train_unfrozen,  ///< the same, but normalisation whose weight is not trained works as in `eval`
  eval,
};

}  // namespace learn
