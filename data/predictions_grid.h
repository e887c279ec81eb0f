#pragma once
#include "data/dataset.h"
#include "data/normalization.h"
#include "framework/drawing/image_grid.h"
#include "framework/interfaces/batch.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace learn::data {

/// What a model made of an image of a set.
struct JudgedImage {
  std::int64_t index = 0;  ///< of the image
  int predicted = -1;      ///< class; -1: none, as an output was NaN
  double probability = std::numeric_limits<double>::quiet_NaN();  ///< of that class; NaN: not known
  double truth_probability = std::numeric_limits<double>::quiet_NaN();  ///< of the true class
  double loss = std::numeric_limits<double>::quiet_NaN();
};

/// The images with their true classes and, under them, what was predicted with which probability:
/// blue if it is right, orange if not. Throws UsageError for an image or class that the set does
/// not have, and for a set without classes.
[[nodiscard]] plot::ImageGrid predictions_grid(const Dataset& dataset,
                                               std::span<const JudgedImage> judged,
                                               std::string title);

/// The `count` images of the largest loss, NaN before all, the largest first: predicted and true
/// class with their probabilities, and the loss. Throws as `predictions_grid`.
[[nodiscard]] plot::ImageGrid top_losses_grid(const Dataset& dataset,
                                              std::span<const JudgedImage> judged,
                                              std::size_t count,
                                              std::string title);

/// The images of a batch as the model was given them, normalisation undone, with their classes, if
/// it has any, and what `logits` (N,classes), f32 on the host, say of them, as in
/// `predictions_grid`. Waits for the device. Throws as `denormalise`; ShapeError for logits of
/// other images or classes, UsageError for a class that there is not.
[[nodiscard]] plot::ImageGrid batch_grid(Context& ctx,
                                         const Batch& batch,
                                         const Tensor& logits,
                                         const std::vector<std::string>& classes,
                                         const Normalization& normalization,
                                         std::string title);

}  // namespace learn::data
