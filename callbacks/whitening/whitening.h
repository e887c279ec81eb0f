#pragma once
#include "framework/learner/callback.h"

#include <cstdint>
#include <string>

namespace learn::callbacks {

struct WhiteningOptions {
  std::string layer;             ///< path of a convolution; empty: the first one of the model
  std::int64_t samples = 5000;   ///< training images whose patches are measured
  double eps = 5e-4;             ///< added to the variances
  std::int64_t bias_epochs = 3;  ///< epochs in which the layer's bias is trained
};

/// Makes a convolution whiten its input, as the first layer of the airbench records does: before
/// the first batch of a learner, its filters become the eigenvectors of the second moments of image
/// patches, scaled to variance 1, and the negatives of these (`whitening_filters`). So it must have
/// twice as many filters as a patch has values: 24 for 2x2 windows of 3 channels. The bias starts
/// at 0. The weight is not trained (`ParamStore::fix`), the bias in the first epochs only.
///
/// It measures images of the first training pass, augmented and normalized. A resumed training
/// keeps its filters. It is not for pretrained weights, which it would replace.
class Whitening final : public Callback {
 public:
  /// Throws UsageError for a negative number, fewer than 1 sample, or eps 0.
  explicit Whitening(WhiteningOptions options = {});

  [[nodiscard]] std::string_view name() const override { return "whitening"; }
  /// Before callbacks that copy the first weights.
  [[nodiscard]] int order() const override { return order::kDefault - 1; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override { return {"whiten the input"}; }
  /// Throws UsageError for an unknown layer, and for one that has another number of filters.
  void attached(Learner& learn) override;
  void train_begin(Learner& learn) override;
  void epoch_begin(Learner& learn) override;

 private:
  WhiteningOptions options_;
  std::int64_t weight_ = -1, bias_ = -1;  // indices in the store
};

}  // namespace learn::callbacks
