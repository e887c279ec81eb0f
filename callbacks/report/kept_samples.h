#pragma once
#include "framework/learner/loop_state.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <vector>

namespace learn::callbacks {

/// A few samples of a pass, as the model was given them, and what it made of them. They are copied
/// on the device, so that no batch waits for the host.
class KeptSamples {
 public:
  /// Call at the start of a pass; `places` are the required samples, ascending from 0.
  void begin(std::vector<std::int64_t> places);
  /// A batch of the pass ends. One of a model whose outputs are not (N,outputs) is left out, and
  /// one that ended before there was a prediction.
  void add(Context& ctx, const BatchRun& batch);
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Whether all required samples were kept.
  [[nodiscard]] bool complete() const noexcept { return next_ == places_.size(); }
  /// On the device. Without `y` if targets of a batch are neither classes nor one for each output.
  [[nodiscard]] Batch samples() const;
  /// (N,outputs) f32 on the host. Waits for the device.
  [[nodiscard]] Tensor outputs(Context& ctx) const;

 private:
  void reserve(Context& ctx, const BatchRun& batch);

  std::vector<std::int64_t> places_;
  std::size_t next_ = 0;   // of the places
  std::int64_t seen_ = 0;  // samples of the pass
  std::int64_t size_ = 0;
  std::int64_t padding_ = 0;
  Tensor x_, y_, pred_;  // space for all; y_ is undefined without targets
};

/// `count` places, or as many as there are, evenly over a pass of `samples`.
[[nodiscard]] std::vector<std::int64_t> spread_places(std::int64_t count, std::int64_t samples);
/// The first ones.
[[nodiscard]] std::vector<std::int64_t> first_places(std::int64_t count, std::int64_t samples);

}  // namespace learn::callbacks
