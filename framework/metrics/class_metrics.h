#pragma once
#include "framework/evaluation/confusion_matrix.h"
#include "framework/metrics/kept_rows.h"

#include <functional>
#include <string>

namespace learn {

/// What a confusion matrix of a pass says, as an object of a Metric. Of each sample 20 bytes stay
/// on the device until the value is asked for.
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

/// What the logits and classes of a pass say. All logits stay on the device until then: of each
/// sample 4 bytes for each class, and 8.
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
