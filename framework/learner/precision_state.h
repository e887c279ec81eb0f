#pragma once
#include "framework/kernels/step/loss_scale_options.h"

#include <optional>
#include <string>

namespace learn {

/// Precision of a training, and its loss scale, if any. `Callback::precision` returns it, so that a
/// state saved in one precision can continue in any other (ADR 0020).
struct PrecisionState {
  std::string name = "fp32";         ///< as in `--precision`
  std::optional<float> first_scale;  ///< of the loss; empty: it is not scaled
  LossScaleOptions scaling{.dynamic = false};
  /// The optimizer's control block holds its loss scale, from an earlier fit or a checkpoint.
  bool scale_set = false;
};

/// The loss scale with which `own` continues a state of another precision, whose scale was `saved`,
/// if it had one: that one, within the limits of `own`, if it may move; otherwise the first. 1 for
/// a precision without a scale.
[[nodiscard]] float continued_scale(const PrecisionState& own, const std::optional<float>& saved);

/// "the state was saved in fp16 with a loss scale of 8192; it continues in bf16, without one".
[[nodiscard]] std::string describe_crossing(const std::string& saved_name,
                                            const std::optional<float>& saved_scale,
                                            const PrecisionState& own);

}  // namespace learn
