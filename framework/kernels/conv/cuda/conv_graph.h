#pragma once
#include "framework/kernels/conv/cuda/conv_problem.h"
#include "framework/runtime/cuda/cudnn/descriptor.h"

#include <cstdint>
#include <vector>

namespace learn::cuda::cudnn {

/// cuDNN's identifier of each tensor of a convolution. x, w and y are the gradients if the pass
/// reads or writes those.
enum TensorId : std::int64_t { kX = 1, kW = 2, kY = 3, kBias = 4, kSum = 5 };

/// A problem as an operation graph: one convolution in f32 arithmetic, and for a bias an addition
/// after it. Tensors are NHWC and KRSC and aligned to 16 bytes.
class ConvGraph {
 public:
  /// Throws DeviceError for sizes cuDNN refuses.
  explicit ConvGraph(const ConvProblem& problem);

  [[nodiscard]] const Descriptor& descriptor() const noexcept { return parts_.back(); }

 private:
  std::vector<Descriptor> parts_;  // what a graph is made of must live as long as the graph
};

}  // namespace learn::cuda::cudnn
