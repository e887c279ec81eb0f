#pragma once
#include "framework/learner/loop_state.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <vector>

namespace learn::callbacks {

/// A few samples of a pass, as the model received them, and its predictions. They are copied on the
/// device, so that no batch waits for the host.
class KeptSamples {
 public:
  /// Call at the start of a pass; `places` lists the positions of the samples to keep, ascending,
  /// from 0.
  void begin(std::vector<std::int64_t> places);
  /// Call at the end of each batch. Ignores batches whose outputs are not (N,outputs), and batches
  /// that ended before there was a prediction.
  void add(Context& ctx, const BatchRun& batch);
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Returns whether all samples have been kept.
  [[nodiscard]] bool complete() const noexcept { return next_ == places_.size(); }
  /// Returns the samples on the device. `y` is missing if targets of a batch are neither classes
  /// nor one for each output.
  [[nodiscard]] Batch samples() const;
  /// Returns (N,outputs) f32 on the host. Waits for the device.
  [[nodiscard]] Tensor outputs(Context& ctx) const;

 private:
  void reserve(Context& ctx, const BatchRun& batch);

  std::vector<std::int64_t> places_;
  std::size_t next_ = 0;   // index in the places
  std::int64_t seen_ = 0;  // samples of the pass so far
  std::int64_t size_ = 0;
  std::int64_t padding_ = 0;
  Tensor x_, y_, pred_;  // room for all samples; y_ is undefined without targets
};

/// Returns `count` positions, or as many as there are, spread evenly over a pass of `samples`.
[[nodiscard]] std::vector<std::int64_t> spread_places(std::int64_t count, std::int64_t samples);
/// Returns the first positions.
[[nodiscard]] std::vector<std::int64_t> first_places(std::int64_t count, std::int64_t samples);

}  // namespace learn::callbacks
