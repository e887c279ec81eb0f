#pragma once
#include "data/dataset.h"
#include "data/sets/registry.h"

namespace learn::data {

/// The test images of a data set of fixed parts, as a model needs them that was trained on others:
/// its classes in its order, scaled to its input (`options.evaluation`). Throws DataError for a
/// class of the model that the set does not have.
[[nodiscard]] DataPair for_evaluation(Dataset test, const DataOptions& options);

/// Both parts with the limits of the options.
[[nodiscard]] DataPair limited(DataPair pair, const DataOptions& options);

/// Both parts with the classes and limits of the options.
[[nodiscard]] DataPair narrowed(Dataset train, Dataset valid, const DataOptions& options);

}  // namespace learn::data
