#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace learn {

class Context;
struct BatchRun;

/// The mean loss over the samples of a pass, each weighted as in the loss, independent of the
/// batches. Losses stay on the device until the mean is read, so no batch waits for the host.
class LossMeter {
 public:
  /// Forgets everything and makes room for `batches` losses.
  void begin(Context& ctx, std::int64_t batches);
  /// Takes the loss of a batch, its weight and its number of samples.
  void add(Context& ctx, const BatchRun& batch);
  /// Mean over all samples added; NaN if they weigh nothing. Losses that are not finite are left
  /// out of it unless they are more than `skipped`, those of batches that were. Waits for the
  /// device.
  [[nodiscard]] double mean(Context& ctx, std::int64_t skipped = 0) const;
  [[nodiscard]] std::int64_t samples() const noexcept;
  /// Visits the losses of a pass in progress, after `done` of `batches`; `weighted` if the loss has
  /// weights. Throws CheckpointError for more of them.
  void visit_state(
      Context& ctx, std::int64_t done, std::int64_t batches, bool weighted, StateVisitor& visitor);

 private:
  void begin_weights(Context& ctx);
  void visit_weights(Context& ctx, std::int64_t count, StateVisitor& visitor);

  Tensor losses_;          // f32, one per batch
  Tensor weights_;         // f32, one per batch
  bool weighted_ = false;  // false: the weights are numbers of samples
  std::vector<std::int64_t> samples_;
};

}  // namespace learn
