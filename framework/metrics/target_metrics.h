#pragma once
#include "framework/metrics/kept_rows.h"

#include <functional>
#include <span>

namespace learn {

/// A metric of the outputs and targets of a pass in which each sample has as many targets as
/// outputs: several labels, or real numbers. It keeps them on the device until the value is read: 8
/// bytes for each output of each sample.
class OfTargets {
 public:
  using Measure = std::function<double(
      std::span<const float> outputs, std::int64_t columns, std::span<const float> targets)>;
  explicit OfTargets(Measure measure) : measure_(std::move(measure)) {}

  void add(Context& ctx, const Tensor& pred, const Tensor& target);
  [[nodiscard]] double value() const;
  void visit_state(Context& ctx, std::int64_t most, StateVisitor& visitor);

 private:
  Measure measure_;
  Context* ctx_ = nullptr;
  KeptRows outputs_{DType::f32}, targets_{DType::f32};
};

}  // namespace learn
