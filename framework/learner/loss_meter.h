#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace learn {

class Context;
struct BatchRun;

/// The mean loss over the samples of a pass, each weighted as in the loss, independent of the
/// batches. Losses stay on the device until some hundreds of them are read together, so few batches
/// wait for the host, and the memory does not depend on the length of a pass.
class LossMeter {
 public:
  /// Forgets everything. Announces a pass of `batches`.
  void begin(std::int64_t batches);
  /// Takes the loss of a batch, its weight and its number of samples. Throws Error for more batches
  /// than announced.
  void add(Context& ctx, const BatchRun& batch);
  /// Mean over all samples added; NaN if they weigh nothing. Losses that are not finite are left
  /// out of it unless they are more than `skipped`, those of batches that were. Waits for the
  /// device.
  [[nodiscard]] double mean(Context& ctx, std::int64_t skipped = 0) const;
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }
  /// Visits the sums of a pass in progress, after `done` of `batches`. Throws CheckpointError for
  /// more of them.
  void visit_state(Context& ctx, std::int64_t done, std::int64_t batches, StateVisitor& visitor);

 private:
  struct Sum {
    double loss = 0;  // times its weight
    double weight = 0;
    void add(double of_batch, double its_weight);
  };
  struct Sums {
    Sum all, finite;
    std::int64_t not_finite = 0;
  };
  struct Pending {
    std::int64_t samples = 0;
    bool weighted = false;  // false: it weighs as much as its samples
  };

  [[nodiscard]] Sums sums(Context& ctx) const;
  void read_pending(Context& ctx);

  std::int64_t announced_ = 0;
  std::int64_t batches_ = 0;
  std::int64_t samples_ = 0;
  Sums sums_;                     // of the batches before the pending ones
  std::vector<Pending> pending_;  // have a loss on the device, and a weight if they are weighted
  Tensor losses_, weights_;       // f32
};

}  // namespace learn
