#pragma once
#include "data/dataset.h"
#include "data/loading/normalization.h"
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
  int workers = 1;               ///< threads that prepare batches; 0: the thread that calls `next`
  int prefetch = 2;              ///< batches prepared in advance; at least 1
  std::uint64_t seed = 42;
  DType dtype = DType::f32;  ///< of the samples: f32, f16 or bf16
  Normalization normalization;
  std::vector<Transform> transforms;
  /// On a CUDA device, keep the data set in the device's memory and make the batches there,
  /// bit-identical and without workers, unless a transform is a user's function or the targets are
  /// not classes. Other batches are uploaded while the device works on the previous one.
  bool resident = true;
  /// Half batches made on a CUDA device are padded with zeros to 8 channels, as its convolutions
  /// need; `Batch::padding` gives the number. For models that start with a convolution.
  bool pad_channels = false;
};

/// Batches of a data set for the training loop: images (N,H,W,C) or features (N,C), augmented and
/// normalized, with classes (N) i64, or labels or values (N,K) f32.
///
/// A pass is a function of (data, options, seed, epoch), for any number of workers, which share the
/// work on each batch. `next` rethrows an exception of a worker (of several in a batch always the
/// same one), and the pass is over. Used by one thread at a time.
///
/// After loading a state that was saved in the middle of a pass, the next pass continues there if
/// it is for that epoch; otherwise it starts with its first batch.
class Loader final : public BatchSource {
 public:
  /// Borrows the data set and the context, which must outlive the loader. Throws UsageError for
  /// invalid options, DataError if a pass would have no batch.
  Loader(Context& ctx, const Dataset& dataset, LoaderOptions options);
  /// Deleted: a temporary would be destroyed before the loader.
  Loader(Context& ctx, const Dataset&& dataset, LoaderOptions options) = delete;
  ~Loader() override;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] std::int64_t batches() const override;
  [[nodiscard]] std::int64_t samples() const override;
  [[nodiscard]] std::int64_t smallest_batch() const override;
  /// Prepares only the rows of the share, identical, bit for bit, to those rows of the whole batch.
  /// `batches`, `samples` and `smallest_batch` still count whole batches, and so does a state: a
  /// run may resume with another number of ranks. The share holds for the passes that start
  /// afterwards, at `begin` or when a state is loaded; set it before loading a state if no `begin`
  /// follows. Throws UsageError for a rank that does not exist.
  [[nodiscard]] bool set_share(const Share& share) override;
  void begin(std::int64_t epoch) override;
  /// `batch.x` and `batch.y` are views of the loader's memory, reused from batch to batch.
  [[nodiscard]] bool next(Batch& batch) override;
  void visit_state(StateVisitor& visitor) override;

  /// Returns (H,W,C) after the transforms, without padding; (C) for features.
  [[nodiscard]] Shape sample_shape() const override;
  [[nodiscard]] int classes() const override;
  [[nodiscard]] const Dataset& dataset() const noexcept;
  [[nodiscard]] const LoaderOptions& options() const noexcept;
  /// Returns whether batches are made on the device, from a data set in its memory, without
  /// workers.
  [[nodiscard]] bool on_device() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace learn::data
