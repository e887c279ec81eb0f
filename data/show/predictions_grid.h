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
  /// The results of `interpret`: the probability of each class or label, or the values.
  std::vector<double> outputs;
  double loss = std::numeric_limits<double>::quiet_NaN();
};

/// The images with their true classes and, under them, what was predicted with which probability:
/// blue if it is right, orange if not. Of several labels each has a line, with those that were
/// missed; of real numbers the predicted and the true one stand beside each other; at most four
/// lines. A label is there if its probability is above `threshold`. Throws UsageError for an image
/// that the set does not have, and for outputs of another number.
[[nodiscard]] plot::ImageGrid predictions_grid(const Dataset& dataset,
                                               std::span<const JudgedImage> judged,
                                               std::string title,
                                               double threshold = kLabelThreshold);

/// The `count` images of the largest loss, NaN before all, the largest first: what was predicted,
/// as in `predictions_grid`, the true class with its probability, or the true labels, the loss, and
/// the image's file, or its number if it is not from a file.
/// Throws as that.
[[nodiscard]] plot::ImageGrid top_losses_grid(const Dataset& dataset,
                                              std::span<const JudgedImage> judged,
                                              std::size_t count,
                                              std::string title,
                                              double threshold = kLabelThreshold);

/// The images of a batch as the model was given them, normalisation undone, with their targets, if
/// it has any (of classes only such as are numbers of classes), and what `outputs` (N,classes), f32
/// on the host, say of them, as in `predictions_grid`. Waits for the device. Throws as
/// `denormalise`; ShapeError for outputs of other images or classes, UsageError for a class that
/// there is not.
[[nodiscard]] plot::ImageGrid batch_grid(Context& ctx,
                                         const Batch& batch,
                                         const Tensor& outputs,
                                         const std::vector<std::string>& classes,
                                         const Normalization& normalization,
                                         std::string title,
                                         TargetKind kind = TargetKind::classes);

}  // namespace learn::data
