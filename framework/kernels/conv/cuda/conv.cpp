#include "framework/kernels/conv/cuda/conv.h"

#include "framework/core/log.h"
#include "framework/kernels/common/cuda/staging.h"
#include "framework/kernels/conv/cuda/conv_plans.h"
#include "framework/runtime/cuda/api_error.h"
#include "framework/runtime/cuda/race.h"

#include <cuda_runtime_api.h>

#include <optional>
#include <span>

namespace learn::cuda {
namespace {

using cudnn::ConvPass;

/// cuDNN's handle, one per context because it holds a stream.
class Handle {
 public:
  Handle() { cudnn::check_cudnn(cudnn::api().create(&raw_), "cannot be started"); }
  ~Handle() { (void)cudnn::api().destroy(raw_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  [[nodiscard]] cudnnHandle_t raw() const noexcept { return raw_; }

 private:
  cudnnHandle_t raw_ = nullptr;
};

/// The shapes of a convolution's operands with padded channels. `x_channels` is the number that x
/// has.
struct StagedShapes {
  StagedShape x, w, y, bias;
  StagedShapes(const ConvGeometry& g, const ConvGeometry& padded, std::int64_t x_channels)
      : x{g.n * g.h * g.w, x_channels, padded.c, g.n * g.h * g.w},
        w{g.k * g.r * g.s, g.group_c(), padded.group_c(), padded.k * g.r * g.s},
        y{g.n * g.p * g.q, g.k, padded.k, g.n * g.p * g.q},
        bias{1, g.k, padded.k, 1} {}
};

}  // namespace

struct Convolutions::Impl {
  Handle handle;
  cudnn::ConvPlans plans;
  std::optional<Race> race;  // shared by all races because it is warm after the first

  explicit Impl(const CudaOptions& options)
      : plans(cudnn::DeviceDescription(handle.raw()), options) {}

  /// Runs a problem. `result_bytes` is the size of `result`, the operand that the pass writes.
  void run(const Exec& exec,
           const cudnn::ConvProblem& problem,
           const cudnn::ConvOperands& operands,
           const void* cudnn::ConvOperands::*result,
           std::size_t result_bytes) {
    cudnn::check_cudnn(cudnn::api().set_stream(handle.raw(), exec.stream), "refuses a stream");
    const auto enqueue = [&](const cudnn::ConvPlan& plan, const cudnn::ConvOperands& on_these) {
      const Storage scratch =
          plan.workspace() > 0 ? exec.workspace.allocate(plan.workspace()) : Storage();
      plan.run(handle.raw(), on_these, scratch.data());
    };
    cudnn::PlanRace among;
    if (exec.options.tune && !is_capturing(exec.stream))
      among = [&](std::span<const cudnn::ConvPlan> candidates) {
        // The race writes to scratch memory because the result may hold values to be added to.
        const Storage elsewhere = exec.workspace.allocate(result_bytes);
        // Passes that add read the result, so it must be zero.
        check_api(cudaMemsetAsync(elsewhere.data(), 0, result_bytes, exec.stream));
        cudnn::ConvOperands trial = operands;
        trial.*result = elsewhere.data();
        if (!race.has_value()) race.emplace(exec.stream);
        return race->fastest(candidates.size(),
                             [&](std::size_t i) { enqueue(candidates[i], trial); });
      };
    const cudnn::ConvPlan* plan = &plans.plan(problem, among);
    for (bool replaced = false;; replaced = true) {
      try {
        enqueue(*plan, operands);
        if (replaced) plans.keep(problem, among);
        return;
      } catch (const DeviceError& refused) {
        // The failure has ended the capture. The step is then run without a capture and gets here
        // again.
        if (is_capturing(exec.stream)) throw;
        plan = plans.next(problem);
        if (plan == nullptr) throw;
        log::warn("[cudnn] conv2d {}: a plan cannot be run, using the next one: {}",
                  problem.text(),
                  refused.what());
      }
    }
  }
};

Convolutions::Convolutions() = default;
Convolutions::~Convolutions() = default;

Convolutions::Impl& Convolutions::ready(const Exec& exec) {
  if (!impl_) impl_ = std::make_unique<Impl>(exec.options);
  return *impl_;
}

void Convolutions::forward(const Exec& exec,
                           const ConvGeometry& g,
                           DType dtype,
                           const ConvInput& x,
                           const void* w,
                           const void* bias,
                           void* y) {
  if (g.y_elements() == 0) return;
  const ConvGeometry padded = cudnn::padded_geometry(g, dtype);
  const StagedShapes shapes(g, padded, x.channels);
  const StagedInput in(exec.stream, exec.workspace, dtype, x.data, shapes.x);
  const StagedInput weight(exec.stream, exec.workspace, dtype, w, shapes.w);
  const StagedInput added(exec.stream, exec.workspace, dtype, bias, shapes.bias);
  StagedOutput out(exec.stream, exec.workspace, dtype, y, shapes.y);
  ready(exec).run(exec,
                  {ConvPass::forward, padded, dtype, bias != nullptr, false, exec.winograd},
                  {in.data(), weight.data(), out.data(), added.data()},
                  &cudnn::ConvOperands::y,
                  static_cast<std::size_t>(padded.y_elements()) * size_of(dtype));
  out.finish(GradMode::overwrite);
}

void Convolutions::backward_data(const Exec& exec,
                                 const ConvGeometry& g,
                                 DType dtype,
                                 const void* dy,
                                 const void* w,
                                 void* dx,
                                 GradMode mode) {
  if (g.x_elements() == 0) return;
  const ConvGeometry padded = cudnn::padded_geometry(g, dtype);
  const StagedShapes shapes(g, padded, g.c);
  const StagedInput in(exec.stream, exec.workspace, dtype, dy, shapes.y);
  const StagedInput weight(exec.stream, exec.workspace, dtype, w, shapes.w);
  StagedOutput out(exec.stream, exec.workspace, dtype, dx, shapes.x);
  const bool adds = mode == GradMode::accumulate && out.in_place();
  ready(exec).run(exec,
                  {ConvPass::backward_data, padded, dtype, false, adds, exec.winograd},
                  {out.data(), weight.data(), in.data()},
                  &cudnn::ConvOperands::x,
                  static_cast<std::size_t>(padded.x_elements()) * size_of(dtype));
  out.finish(mode);
}

void Convolutions::backward_weight(const Exec& exec,
                                   const ConvGeometry& g,
                                   DType dtype,
                                   const ConvInput& x,
                                   const void* dy,
                                   void* dw,
                                   GradMode mode) {
  const std::size_t bytes = static_cast<std::size_t>(g.weight_elements()) * size_of(dtype);
  if (g.y_elements() == 0) {  // an empty sum
    if (mode == GradMode::overwrite) check_api(cudaMemsetAsync(dw, 0, bytes, exec.stream));
    return;
  }
  const ConvGeometry padded = cudnn::padded_geometry(g, dtype);
  const StagedShapes shapes(g, padded, x.channels);
  const StagedInput in(exec.stream, exec.workspace, dtype, x.data, shapes.x);
  const StagedInput gradient(exec.stream, exec.workspace, dtype, dy, shapes.y);
  StagedOutput out(exec.stream, exec.workspace, dtype, dw, shapes.w);
  const bool adds = mode == GradMode::accumulate && out.in_place();
  ready(exec).run(exec,
                  {ConvPass::backward_weight, padded, dtype, false, adds, exec.winograd},
                  {in.data(), out.data(), gradient.data()},
                  &cudnn::ConvOperands::w,
                  static_cast<std::size_t>(padded.weight_elements()) * size_of(dtype));
  out.finish(mode);
}

}  // namespace learn::cuda
