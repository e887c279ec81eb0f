#pragma once
#include "framework/kernels/conv/conv_geometry.h"

#include <string>
#include <vector>

namespace learn::test {

/// The convolutions a model does with one image, in order, seen by running its forward pass.
struct ModelConvs {
  std::string model;
  std::vector<ConvGeometry> convs;
};

/// Every model of the registry.
[[nodiscard]] std::vector<ModelConvs> conv_census();

}  // namespace learn::test
