#pragma once
#include "framework/interfaces/state_visitor.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace learn {

/// One mini-batch on the learner's device.
struct Batch {
  Tensor x;  ///< inputs: images (N,H,W,C), f32 unless the source makes halves
  Tensor y;  ///< targets: classes (N) i64, or soft targets (N,classes) f32
  std::vector<std::int64_t> index;  ///< which samples of the data set these are; may be empty
  /// Number of x's last channels that are zeros and not part of the model's input, for the
  /// convolutions of a GPU.
  std::int64_t padding = 0;
  [[nodiscard]] std::int64_t size() const { return x.shape().rank() > 0 ? x.shape()[0] : 0; }
};

/// Source of the loop's batches. Implementations are in data/; the loop uses only this interface.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Batches per pass and samples per pass (fewer than the set has if the last short batch is
  /// dropped).
  [[nodiscard]] virtual std::int64_t batches() const = 0;
  [[nodiscard]] virtual std::int64_t samples() const = 0;
  /// The fewest samples that a batch of a pass has; 0 if unknown.
  [[nodiscard]] virtual std::int64_t smallest_batch() const { return 0; }
  /// Requirements for a model: the shape of one sample, (H,W,C) for images, and the number of
  /// classes. Empty and 0 if unknown.
  [[nodiscard]] virtual Shape sample_shape() const { return {}; }
  [[nodiscard]] virtual int classes() const { return 0; }
  /// Starts pass number `epoch`: the order and the augmentation depend on it, the seed, and nothing
  /// else.
  virtual void begin(std::int64_t epoch) = 0;
  /// Fills `batch` and returns true, or returns false at the end of the pass. The tensors stay
  /// valid until the next call.
  [[nodiscard]] virtual bool next(Batch& batch) = 0;
  /// Position in the pass, so that a run can resume in the middle of an epoch: a source that loaded
  /// one continues there at the next `begin` of that epoch.
  virtual void visit_state(StateVisitor&) {}
};

/// Sources for a Learner's training and, if there is a second one, validation. Borrows both.
struct BatchSources {
  BatchSources(BatchSource& training) : train(&training) {}  // not explicit: one is enough
  BatchSources(BatchSource& training, BatchSource& validation)
      : train(&training), valid(&validation) {}
  friend bool operator==(const BatchSources&, const BatchSources&) = default;
  BatchSource* train;
  BatchSource* valid = nullptr;
};

}  // namespace learn
