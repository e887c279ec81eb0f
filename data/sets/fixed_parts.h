#pragma once
#include "data/dataset.h"
#include "data/sets/registry.h"

namespace learn::data {

/// Returns the test images of a data set with fixed parts for evaluating a model that was trained
/// on other data: with the model's classes in its order, scaled to its input
/// (`options.evaluation`). Throws DataError for a class of the model that the set does not have.
[[nodiscard]] DataPair for_evaluation(Dataset test, const DataOptions& options);

/// Applies the limits of the options to both parts.
[[nodiscard]] DataPair limited(DataPair pair, const DataOptions& options);

/// Applies the classes and limits of the options to both parts.
[[nodiscard]] DataPair narrowed(Dataset train, Dataset valid, const DataOptions& options);

}  // namespace learn::data
