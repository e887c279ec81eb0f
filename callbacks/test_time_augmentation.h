#pragma once
#include "framework/interfaces/target_kind.h"
#include "framework/learner/callback.h"
#include "framework/nn/test_views.h"

namespace learn::callbacks {

/// Test-time augmentation: in validation passes, `get_preds` and `predict`, the predictions of a
/// batch are the mean for several views of its images, as `nn::predict_views` computes it. Losses
/// and metrics measure the mean prediction. Training does not change.
///
/// At loss_begin of a batch that does not train: the model runs on the other views and replaces the
/// prediction.
class TestTimeAugmentation final : public Callback {
 public:
  /// `targets`: of the learner's loss. Throws UsageError for a weight that is not in [0, 1], or a
  /// negative shift.
  explicit TestTimeAugmentation(const nn::TestViews& views = {},
                                TargetKind targets = TargetKind::classes);

  [[nodiscard]] std::string_view name() const override { return "tta"; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override { return {"average views"}; }
  void loss_begin(Learner& learn) override;

 private:
  nn::TestViews views_;
  TargetKind targets_;
};

}  // namespace learn::callbacks
