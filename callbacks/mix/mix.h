#pragma once
#include "callbacks/mix/mix_draw.h"
#include "framework/learner/callback.h"
#include "framework/tensor/tensor.h"

namespace learn::callbacks {

/// MixUp (Zhang et al., arXiv 1710.09412) and CutMix (Yun et al., arXiv 1905.04899). Each sample of
/// a training batch is mixed with the next one of the batch, the last with the first, and so are
/// their targets, which become soft ones:
///
///   MixUp    x = own * x + (1 - own) * next's x, with own from Beta(a, a), one for the batch
///   CutMix   a box of x is the next's, the same for the whole batch; own = 1 - the box's share of
///            the pixels
///   both     y = own * y + (1 - own) * next's y
///
/// Only the loss is computed from the mixed targets (`Batch::loss_y`); metrics of the training pass
/// compare with the batch's targets. Classes become soft targets in every batch, also in one that
/// is not mixed, so that all batches have the same loss. The draws depend on the seed and the
/// number of the batch only, so the batches of an accumulated update have separate ones, and a
/// resumed run has the same ones. With several ranks, each mixes the samples of its
/// share.
///
/// Inputs are mixed before they are cast to halves, in f32, and rounded once. A batch of one sample
/// stays as it is, and so do validation batches.
class Mix final : public Callback {
 public:
  /// Throws UsageError unless mixup, cutmix and plain_epochs are not negative, one of the first two
  /// is positive, and p is in [0, 1].
  explicit Mix(const MixOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "mix"; }
  [[nodiscard]] int order() const override { return order::kMix; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override { return {"mix samples"}; }
  /// Throws UsageError for CutMix of samples that are not images, and for inputs or targets of
  /// integers that are not classes.
  void batch_begin(Learner& learn) override;

 private:
  [[nodiscard]] MixDraw draw(const Learner& learn) const;

  MixOptions options_;
  Tensor row_, column_;  // 0, 1, ... as (H,1,1) and (W,1)
};

}  // namespace learn::callbacks
