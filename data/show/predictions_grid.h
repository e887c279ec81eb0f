#pragma once
#include "data/dataset.h"
#include "data/loading/normalization.h"
#include "framework/drawing/image_grid.h"
#include "framework/evaluation/label_report.h"
#include "framework/interfaces/batch.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace learn::data {

/// A model's prediction for an image of a set.
struct JudgedImage {
  std::int64_t index = 0;  ///< of the image
  /// Results of `interpret`: the probability of each class or label, or the values.
  std::vector<double> outputs;
  double loss = std::numeric_limits<double>::quiet_NaN();
};

/// Draws the images with their true classes and, below, the predictions and their probabilities,
/// blue if right, orange if not. Each of several labels has a line, including the missed ones; real
/// numbers are shown as predicted and true value on one line; at most four lines. A label is
/// predicted if its probability is above `threshold`. Throws UsageError for an image that the set
/// does not have, and for a wrong number of outputs.
[[nodiscard]] plot::ImageGrid predictions_grid(const Dataset& dataset,
                                               std::span<const JudgedImage> judged,
                                               std::string title,
                                               double threshold = kLabelThreshold);

/// Draws the `count` images of the largest loss, NaN first, then in descending order: the
/// prediction, as in `predictions_grid`, the true class with its probability, or the true labels,
/// the loss, and the image's file, or its number if it has no file. Throws as `predictions_grid`
/// does.
[[nodiscard]] plot::ImageGrid top_losses_grid(const Dataset& dataset,
                                              std::span<const JudgedImage> judged,
                                              std::size_t count,
                                              std::string title,
                                              double threshold = kLabelThreshold);

/// Draws the images of a batch as the model received them, normalization undone, with their
/// targets, if any (class targets must be valid class numbers), and the predictions in `outputs`
/// (N,classes), f32 on the host, as in `predictions_grid`. Waits for the device. Throws as
/// `denormalize` does; ShapeError for outputs of other images or classes, UsageError for a class
/// that does not exist.
[[nodiscard]] plot::ImageGrid batch_grid(Context& ctx,
                                         const Batch& batch,
                                         const Tensor& outputs,
                                         const std::vector<std::string>& classes,
                                         const Normalization& normalization,
                                         std::string title,
                                         TargetKind kind = TargetKind::classes);

}  // namespace learn::data
