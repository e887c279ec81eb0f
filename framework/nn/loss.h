#pragma once
#include "framework/autograd/var.h"

#include <functional>
#include <string>

namespace learn::nn {

/// A loss function: predictions on the tape and targets to one f32 element on the tape, the mean
/// over the samples of the batch or a weighted mean.
struct Loss {
  std::string name;
  std::function<Var(const Var& pred, const Tensor& target)> fn;
  /// The weight of a batch, one f32 element that is not negative: what `fn` divides the batch's sum
  /// by. Empty, or an undefined result: the number of samples. Whatever joins batches (the losses
  /// of a pass, accumulated gradients) weights each batch by it, so that the result does not depend
  /// on how samples are spread over batches. The loss of a batch of weight 0 takes no part.
  std::function<Var(Tape& tape, const Tensor& target)> weight;
};

/// Softmax cross-entropy of logits (N,classes) with classes (N) i64 or soft targets (N,classes)
/// f32, accumulated in f32 whatever the input. `label_smoothing` in [0,1) as PyTorch defines it.
[[nodiscard]] Loss cross_entropy(float label_smoothing = 0);
/// Cross-entropy with a weight for each class: `weight` (classes), f32, on the device of the
/// predictions. It is a weighted mean: divided by the sum of the weights of the samples' classes,
/// as in PyTorch, or, for soft targets, of the weights times the targets, so that classes and the
/// same classes as soft targets have one loss (PyTorch divides by N). If that sum is 0, the loss
/// and its gradient are 0 (NaN in PyTorch).
[[nodiscard]] Loss weighted_cross_entropy(const Tensor& weight, float label_smoothing = 0);

// The following take targets of the prediction's shape, f32, and compute in f32, whatever the
// prediction's type; their value is the mean over all elements. They throw ShapeError for another
// shape.

/// Mean of squared differences.
[[nodiscard]] Loss mse();
/// Mean of absolute differences.
[[nodiscard]] Loss l1();
/// Half the square of a difference up to `delta`, and a straight line from there on (PyTorch's
/// HuberLoss). Throws UsageError unless delta > 0.
[[nodiscard]] Loss huber(double delta = 1);
/// `huber(beta)` divided by beta (PyTorch's SmoothL1Loss); `l1` for beta 0. Throws UsageError for
/// beta < 0.
[[nodiscard]] Loss smooth_l1(double beta = 1);
/// Binary cross-entropy of logits with targets in [0,1], one for each of several independent
/// classes (PyTorch's BCEWithLogitsLoss). `pos_weight` (classes), f32, multiplies what a target
/// counts; undefined: 1. It must be where the predictions are.
[[nodiscard]] Loss bce_with_logits(const Tensor& pos_weight = {});
/// Focal loss of logits with targets in [0,1] (Lin et al. 2017), binary for each class as
/// torchvision's sigmoid_focal_loss: the binary cross-entropy times (1 - p)^gamma, where p is the
/// probability given to what is true; positives count `alpha` and negatives 1 - alpha. A negative
/// alpha: both count 1. Throws UsageError for gamma < 0 or alpha > 1.
[[nodiscard]] Loss focal(double gamma = 2, double alpha = 0.25);
/// 1 - the cosine of prediction and target (N,features), mean over rows (PyTorch's
/// CosineEmbeddingLoss of pairs that belong together).
[[nodiscard]] Loss cosine();

}  // namespace learn::nn
