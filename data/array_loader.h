#pragma once
#include "data/pass_position.h"
#include "framework/interfaces/batch.h"
#include "framework/runtime/context.h"
#include "framework/runtime/uploads.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace learn::data {

/// Samples and targets in memory: a class for each sample, or real targets.
struct Arrays {
  std::vector<float> x;               ///< the samples, one after the other
  Shape sample;                       ///< of one: {2} for points, {H,W,C} for images
  std::vector<std::int64_t> classes;  ///< one per sample, from 0; or
  std::vector<float> targets;         ///< as many numbers for each sample
};

struct ArrayLoaderOptions {
  std::int64_t batch_size = 64;
  bool shuffle = false;    ///< a new order in each epoch
  bool drop_last = false;  ///< leave out a last batch that is not full
  std::uint64_t seed = 42;
};

/// Batches of arrays: x (N,sample...) f32; y (N) i64 classes or (N,targets per sample) f32. A pass
/// is a function of data, options and epoch. Used by one thread at a time.
class ArrayLoader final : public BatchSource {
 public:
  /// Throws UsageError for bad options; DataError for arrays that do not fit together, a negative
  /// class, or too few samples for a batch.
  ArrayLoader(Context& ctx, Arrays arrays, const ArrayLoaderOptions& options = {});

  [[nodiscard]] std::int64_t batches() const override;
  [[nodiscard]] std::int64_t samples() const override;
  [[nodiscard]] Shape sample_shape() const override { return arrays_.sample; }
  /// The largest class and one; the numbers per sample of real targets.
  [[nodiscard]] int classes() const override { return classes_; }
  void begin(std::int64_t epoch) override;
  [[nodiscard]] bool next(Batch& batch) override;
  void visit_state(StateVisitor& visitor) override;

 private:
  [[nodiscard]] std::int64_t count() const noexcept {
    return static_cast<std::int64_t>(order_.size());
  }
  void gather(std::int64_t from, std::int64_t to);

  Arrays arrays_;
  ArrayLoaderOptions options_;
  int classes_ = 0;
  std::vector<std::int64_t> order_;
  PassPosition position_;
  std::unique_ptr<Arena> host_;
  Tensor x_, y_;                      // of the running batch, on the host
  std::unique_ptr<Uploads> uploads_;  // if the batches travel to a device
};

}  // namespace learn::data
