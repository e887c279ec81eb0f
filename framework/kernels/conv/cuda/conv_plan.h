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

/// The addresses of one run. `bias` is null for problems without a bias.
struct ConvOperands {
  const void* x = nullptr;
  const void* w = nullptr;
  const void* y = nullptr;
  const void* bias = nullptr;
};

/// The engine of a plan, as described by cuDNN.
struct Engine {
  std::int64_t index = 0;  ///< cuDNN's number for it, among the engines for this kind of operation
  bool tensor_cores = false;
  bool deterministic = false;  ///< whether every run gives the same bits
  bool winograd = false;       ///< Winograd or FFT, so not a plain sum of products
};

/// One engine configuration with which cuDNN can run a convolution on a device.
class ConvPlan {
 public:
  /// Creates a plan from its JSON, as returned by `json`. Throws DeviceError if this cuDNN cannot
  /// use it.
  ConvPlan(const DeviceDescription& device, std::string_view json);

  /// Returns the bytes of scratch memory that `run` needs.
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

  std::shared_ptr<const ConvGraph> graph_;  // held only to live as long as the plan
  std::optional<Descriptor> config_;
  Descriptor plan_;
  std::size_t workspace_ = 0;
};

/// Returns up to `count` plans that the options allow, in the order of cuDNN's heuristics, best
/// first. A plan is excluded if its results differ from run to run, if it sums in less than f32, if
/// it transforms its operands where the problem forbids it, if it has to be compiled at run time (a
/// second each), or if it needs more scratch memory than the limit. Where tensor cores can multiply
/// (halves, TF32), plans that use them come first, because the heuristics prefer some plans that
/// copy everything into another layout and multiply without tensor cores. If only the limit
/// excludes all plans, returns the one that needs the least memory. Returns nothing if cuDNN has no
/// engine for the problem.
[[nodiscard]] std::vector<ConvPlan> find_plans(const DeviceDescription& device,
                                               const ConvProblem& problem,
                                               const CudaOptions& options,
                                               std::size_t count = 1);

}  // namespace learn::cuda::cudnn
