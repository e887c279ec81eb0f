#pragma once
#include "framework/autograd/var.h"
#include "framework/core/options/registry.h"
#include "framework/interfaces/target_kind.h"
#include "framework/nn/module.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <optional>
#include <vector>

/// Test-time augmentation: the mean prediction for several views of an image.
namespace learn::nn {

/// A view of an image: its pixel (y, x) is the image's (y + shift, x + shift), reflected at the
/// edges, and then its columns are reversed if it is mirrored.
struct ImageView {
  std::int64_t shift = 0;
  bool mirrored = false;
  double weight = 1;
};

/// Returns the view (N,H,W,C) of images of any floating dtype. Throws UsageError unless the shift
/// is smaller than both sides.
[[nodiscard]] Tensor view_of(Context& ctx, const Tensor& images, const ImageView& view);

/// Which outputs of a model are averaged.
enum class ViewMean : std::uint8_t {
  probabilities,  ///< of classes (softmax) or labels (sigmoid); of real targets the values
  outputs,        ///< the model's outputs: logits
};

struct TestViews {
  /// 0: an image and its mirror image, with equal weights. Otherwise also both of them shifted by
  /// as many pixels to the upper left and to the lower right, which together have the same weight
  /// as the two that are not shifted (Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU",
  /// arXiv 2404.00498; there by 1 pixel).
  std::int64_t shift = 0;
  /// Weight of the plain image; the other views keep their proportions. fastai's `beta`.
  std::optional<double> plain{};
  ViewMean mean = ViewMean::probabilities;

  /// The views; the first one is the image itself. Their weights add up to 1.
  [[nodiscard]] std::vector<ImageView> views() const;
};

/// A weighted mean of predictions, in f32.
class MeanPrediction {
 public:
  MeanPrediction(TargetKind targets, ViewMean mean);
  /// Adds outputs (N,K) of a model. The weight must be positive.
  void add(const Var& outputs, double weight);
  /// Returns outputs (N,K) whose meaning is the mean: logits, of which softmax or sigmoid make the
  /// mean probabilities, or values. A NaN stays one.
  [[nodiscard]] Var outputs() const;

 private:
  void add_probabilities(const Var& logits, double weight);

  TargetKind targets_;
  bool of_outputs_;
  Var sum_;
  Var yes_, no_;  // logarithms of the probabilities of what a logit is for, and of its contrary
};

/// Returns the mean prediction of a model for the views of images x (N,H,W,C), whose last `padding`
/// channels are zeros. `plain` is the model's output for x itself. Throws UsageError for samples
/// that are not images, and as `view_of`.
[[nodiscard]] Var predict_views(Module& model,
                                const Tensor& x,
                                std::int64_t padding,
                                const Var& plain,
                                const TestViews& views,
                                TargetKind targets);

using ViewRegistry = Registry<TestViews()>;

/// Views by name: mirror, shift.
[[nodiscard]] ViewRegistry view_registry();

}  // namespace learn::nn
