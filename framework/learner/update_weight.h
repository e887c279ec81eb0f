#pragma once
#include "framework/learner/loop_state.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/context.h"

#include <cstdint>

namespace learn {

/// Weighs the batches of an update, and the ranks' shares of each, so that they make the update of
/// one big batch.
///
/// A loss is a mean over its batch. With the weight n_i of part i, its number of samples unless the
/// loss says otherwise (`nn::Loss::weight`), the big batch's gradient is the sum of n_i g_i over
/// the sum of n_i. Each backward pass is seeded with n_i / n_0, where n_0 is the weight of the
/// window's first batch in all ranks, which keeps half gradients in the range of one process
/// without accumulation; n_0 / sum follows in f32 at the end.
class UpdateWeight {
 public:
  /// Makes room for weights on the device, for a loss that gives them. Not within a step.
  void prepare(Context& ctx);
  /// Adds a batch, the `first` of an update or one whose gradients are added to the earlier ones.
  /// `whole` is the loss's weight of all shares, one f32 element; undefined without other ranks, or
  /// if the loss gave no weight. Returns the factor of the seed, one f32 element; undefined
  /// is 1.
  [[nodiscard]] Tensor add(Context& ctx, bool first, const BatchRun& batch, const Tensor& whole);
  /// Prepares for an update of one batch in one process, which needs no weights.
  void clear() noexcept { batches_ = 0; }
  /// Multiplies the summed f32 gradients into the gradients of one big batch.
  void divide(nn::ParamStore& params) const;

 private:
  [[nodiscard]] Tensor add_weight(Context& ctx, const BatchRun& batch, const Tensor& whole);

  std::int64_t batches_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t first_ = 0;  // samples of the first batch
  bool weighted_ = false;
  // Device counterparts, (1) f32 each, for losses that give weights.
  Tensor first_weight_, sum_of_weights_;
};

}  // namespace learn
