#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace learn {

class Context;

/// The mean loss over the samples of a pass. Losses stay on the device until it is asked for, so no
/// batch waits for the host.
class LossMeter {
 public:
  /// Forgets everything and makes room for `batches` losses.
  void begin(Context& ctx, std::int64_t batches);
  /// Takes the mean loss of a batch of `samples`: one floating element on the device.
  void add(Context& ctx, const Tensor& loss, std::int64_t samples);
  /// Mean over all samples added; NaN if there are none. Losses that are not finite are left out of
  /// it unless they are more than `skipped`, those of batches that were. Waits for the device.
  [[nodiscard]] double mean(Context& ctx, std::int64_t skipped = 0) const;
  [[nodiscard]] std::int64_t samples() const noexcept;
  /// The losses of a pass that is under way, `done` of `batches` ended. Throws CheckpointError for
  /// more of them.
  void visit_state(Context& ctx, std::int64_t done, std::int64_t batches, StateVisitor& visitor);

 private:
  Tensor losses_;  // f32, one per batch
  std::vector<std::int64_t> samples_;
};

}  // namespace learn
