#pragma once
#include "data/dataset.h"
#include "data/loading/sampling.h"
#include "data/loading/transforms.h"
#include "framework/interfaces/batch.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace learn::data {

struct LoaderOptions {
  std::int64_t batch_size = 64;
  bool shuffle = false;          ///< a new order in each epoch
  Sampling sampling;             ///< draw the samples instead, some of them more often than others
  bool drop_last = false;        ///< leave out a last batch that is not full
  std::int64_t max_batches = 0;  ///< end each pass after this many batches; 0: no limit
  int workers = 1;               ///< threads that prepare batches; 0: `next` does it itself
  int prefetch = 2;              ///< batches that are ready ahead; at least 1
  std::uint64_t seed = 42;
  DType dtype = DType::f32;  ///< of the samples: f32, f16 or bf16
  Normalization normalization;
  std::vector<Transform> transforms;
  /// On a CUDA device, keep the data set in the device's memory and make the batches there, with
  /// the same bits and without workers, unless a transform is a custom function or the targets are
  /// not classes. Batches of other sets are uploaded while the device works on the previous one.
  bool resident = true;
  /// Half-precision batches that are made on a CUDA device have 8 channels, with zeros after the
  /// colours, as its convolutions need them; `Batch::padding` states it. For models that start with
  /// a convolution.
  bool pad_channels = false;
};

/// Batches of a data set for the training loop: images (N,H,W,C) or features (N,C), augmented and
/// normalised, and classes (N) i64, or labels or values (N,K) f32.
///
/// A pass is a function of (data, options, seed, epoch): the same for any number of workers, who
/// share the work on each batch. What a worker throws is thrown by `next` (of several in a batch
/// always the same), and the pass is over. Used by one thread at a time.
///
/// A state that was saved in the middle of a pass and is loaded makes the next `begin` with that
/// epoch continue where it was; any other `begin` starts afresh.
class Loader final : public BatchSource {
 public:
  /// Borrows the data set and the context, which must outlive the loader. Throws UsageError for
  /// bad options, DataError if a pass would have no batch.
  Loader(Context& ctx, const Dataset& dataset, LoaderOptions options);
  /// A temporary would be gone before the loader is.
  Loader(Context& ctx, const Dataset&& dataset, LoaderOptions options) = delete;
  ~Loader() override;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] std::int64_t batches() const override;
  [[nodiscard]] std::int64_t samples() const override;
  [[nodiscard]] std::int64_t smallest_batch() const override;
  void begin(std::int64_t epoch) override;
  /// `batch.x` and `batch.y` are views of the loader's own memory, reused from batch to batch.
  [[nodiscard]] bool next(Batch& batch) override;
  void visit_state(StateVisitor& visitor) override;

  /// (H,W,C) after the transforms, without padding; (C) of features.
  [[nodiscard]] Shape sample_shape() const override;
  [[nodiscard]] int classes() const override;
  [[nodiscard]] const Dataset& dataset() const noexcept;
  [[nodiscard]] const LoaderOptions& options() const noexcept;
  /// Batches are made on the device from a data set in its memory, without workers.
  [[nodiscard]] bool on_device() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace learn::data
