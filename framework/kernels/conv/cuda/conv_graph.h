#pragma once
#include "framework/kernels/conv/cuda/conv_problem.h"
#include "framework/runtime/cuda/cudnn/descriptor.h"

#include <cstdint>
#include <vector>

namespace learn::cuda::cudnn {

/// The numbers that identify the tensors of a convolution to cuDNN. x, w and y denote their
/// gradients where the pass reads or writes gradients.
enum TensorId : std::int64_t { kX = 1, kW = 2, kY = 3, kBias = 4, kSum = 5 };

/// A problem as an operation graph: one convolution in f32 arithmetic, followed by an addition if
/// there is a bias. Tensors are NHWC and KRSC and aligned to 16 bytes.
class ConvGraph {
 public:
  /// Throws DeviceError for sizes that cuDNN rejects.
  explicit ConvGraph(const ConvProblem& problem);

  [[nodiscard]] const Descriptor& descriptor() const noexcept { return parts_.back(); }

 private:
  std::vector<Descriptor> parts_;  // parts must live as long as the graph
};

}  // namespace learn::cuda::cudnn
