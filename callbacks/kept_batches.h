#pragma once
#include "framework/interfaces/batch.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace learn::callbacks {

/// Batches of a source, kept in memory, or the shares of batches if the source makes those. Passes
/// are planned to have the same length as in the source.
class KeptBatches final : public BatchSource {
 public:
  /// Copies the first `count` batches of a source, from the pass `epoch` on, and from further
  /// passes if one is shorter. Reading more than `count` batches ends the pass. Afterwards the
  /// source is at the start of pass `epoch` again, or at the position of a loaded state.
  KeptBatches(Context& ctx, BatchSource& source, std::int64_t epoch, std::int64_t count);
  /// Makes one pass that repeats the first batch of another KeptBatches `count` times, and shares
  /// its memory.
  KeptBatches(const KeptBatches& others, std::int64_t count);

  [[nodiscard]] std::int64_t batches() const override { return pass_; }
  [[nodiscard]] std::int64_t samples() const override { return samples_; }
  [[nodiscard]] Shape sample_shape() const override { return sample_shape_; }
  [[nodiscard]] int classes() const override { return classes_; }
  void begin(std::int64_t epoch) override {
    next_ = (epoch - first_epoch_) * pass_;
    end_ = next_ + pass_;
  }
  [[nodiscard]] bool next(Batch& batch) override;

 private:
  std::vector<Batch> batches_;
  bool again_ = false;  // restart at the first batch after the last one
  std::int64_t first_epoch_ = 0;
  std::int64_t pass_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t next_ = 0;  // in all of them
  std::int64_t end_ = 0;   // of the pass
  Shape sample_shape_;
  int classes_ = 0;
};

}  // namespace learn::callbacks
