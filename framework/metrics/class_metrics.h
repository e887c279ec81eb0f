#pragma once
#include "framework/evaluation/confusion_matrix.h"
#include "framework/metrics/kept_rows.h"

#include <functional>
#include <string>

namespace learn {

/// A metric of the confusion matrix of a pass. It keeps 20 bytes per sample on the device until the
/// value is read.
class OfConfusion {
 public:
  using Measure = std::function<double(const ConfusionMatrix&)>;
  explicit OfConfusion(Measure measure) : measure_(std::move(measure)) {}

  void add(Context& ctx, const Tensor& pred, const Tensor& target);
  [[nodiscard]] double value() const;
  void visit_state(Context& ctx, std::int64_t most, StateVisitor& visitor);

 private:
  Measure measure_;
  Context* ctx_ = nullptr;
  std::int64_t classes_ = 0;
  KeptRows largest_{DType::f32}, guesses_{DType::i64}, truths_{DType::i64};
};

/// A metric of the logits and classes of a pass. It keeps all logits on the device until the value
/// is read: 4 bytes per sample and class, and 8 per sample.
class OfLogits {
 public:
  using Measure = std::function<double(
      std::span<const float> logits, std::int64_t classes, std::span<const std::int64_t> truths)>;
  explicit OfLogits(Measure measure) : measure_(std::move(measure)) {}

  void add(Context& ctx, const Tensor& pred, const Tensor& target);
  [[nodiscard]] double value() const;
  void visit_state(Context& ctx, std::int64_t most, StateVisitor& visitor);

 private:
  Measure measure_;
  Context* ctx_ = nullptr;
  KeptRows logits_{DType::f32}, truths_{DType::i64};
};

}  // namespace learn
