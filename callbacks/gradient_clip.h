#pragma once
#include "framework/learner/callback.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <string>

namespace learn::callbacks {

enum class ClipBy : std::uint8_t {
  norm,   ///< all gradients together are scaled down to an L2 norm of at most the limit
  value,  ///< each gradient is clamped to [-limit, limit]
};

/// Limits gradients at step_begin, when they are unscaled and complete, so that the limit has the
/// same meaning in every precision, with any loss scale, and for accumulated batches. The norm is
/// taken over all trained parameters, regardless of their groups. Works as PyTorch's
/// clip_grad_norm_ and clip_grad_value_, except that a norm that is not finite clips nothing. A
/// Recorder records each norm.
class GradientClip final : public Callback {
 public:
  /// Throws UsageError unless `limit` is positive and finite.
  explicit GradientClip(float limit = 1, ClipBy by = ClipBy::norm);

  [[nodiscard]] std::string_view name() const override { return "gradient_clip"; }
  [[nodiscard]] int order() const override { return order::kGradientClip; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void step_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;

  /// Returns the norm of the last step's gradients before clipping; NaN before the first step and
  /// when clipping by value. Waits for the device.
  [[nodiscard]] double last_norm(Learner& learn) const;
  [[nodiscard]] float limit() const noexcept { return limit_; }

 private:
  float limit_;
  ClipBy by_;
  Tensor norm_;  // one f32 element on the device
};

/// Returns the advice for gradients that are too large: "gradient clipping", or, if the learner
/// clips already, "gradients clipped below 1".
[[nodiscard]] std::string clipping_advice(const Learner& learn);

}  // namespace learn::callbacks
