#pragma once
#include "framework/kernels/conv/cuda/conv_graph.h"
#include "framework/runtime/cuda/cudnn/device.h"
#include "framework/runtime/cuda_options.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace learn::cuda::cudnn {

/// The addresses of one run; `bias` is null for problems without one.
struct ConvOperands {
  const void* x = nullptr;
  const void* w = nullptr;
  const void* y = nullptr;
  const void* bias = nullptr;
};

/// Properties of a plan's kernel, from cuDNN's notes.
struct Engine {
  std::int64_t index = 0;  ///< cuDNN's number of it, among those for this kind of operation
  bool tensor_cores = false;
  bool deterministic = false;  ///< the same bits in every run
  bool winograd = false;       ///< or FFT: not a plain sum of products
};

/// One engine configuration by which cuDNN can run a convolution on a device.
class ConvPlan {
 public:
  /// From a plan's own JSON, as `json` gives it. Throws DeviceError if this cuDNN cannot use it.
  ConvPlan(const DeviceDescription& device, std::string_view json);

  /// Bytes of scratch memory `run` needs.
  [[nodiscard]] std::size_t workspace() const noexcept { return workspace_; }
  [[nodiscard]] std::string json() const;
  [[nodiscard]] Engine engine() const;
  /// Enqueues the convolution on the handle's stream.
  void run(cudnnHandle_t handle, const ConvOperands& operands, void* workspace) const;

 private:
  friend class PlanSearch;
  ConvPlan(const DeviceDescription& device,
           std::shared_ptr<const ConvGraph> graph,
           Descriptor config);

  std::shared_ptr<const ConvGraph> graph_;  // these two only stay alive with the plan
  std::optional<Descriptor> config_;
  Descriptor plan_;
  std::size_t workspace_ = 0;
};

/// Returns the best `count` plans by cuDNN's heuristics that the options allow, best first.
/// Excludes plans that are not deterministic, sum in less than f32, transform their operands where
/// the problem forbids it, must be compiled at run time (a second each), or need more scratch
/// memory than the limit. For types that tensor cores support (halves, TF32), plans that use them
/// come first, because the heuristics prefer some that copy everything into another layout and
/// multiply without them. If all plans exceed the limit, returns the smallest one. Empty if cuDNN
/// has no engine for the problem.
[[nodiscard]] std::vector<ConvPlan> find_plans(const DeviceDescription& device,
                                               const ConvProblem& problem,
                                               const CudaOptions& options,
                                               std::size_t count = 1);

}  // namespace learn::cuda::cudnn
