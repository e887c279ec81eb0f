#pragma once
#include "framework/backend/conv_geometry.h"

#include <string>
#include <vector>

namespace learn::test {

/// The convolutions a model does, in order, seen by running its forward pass once on one picture
/// and then counted for a batch of `batch`.
struct ModelConvs {
  std::string model;
  std::vector<ConvGeometry> convs;
};

/// Every model of the registry.
[[nodiscard]] std::vector<ModelConvs> conv_census(std::int64_t batch);

}  // namespace learn::test
