#include "framework/kernels/conv/cuda/conv_plan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace learn::cuda::cudnn {
namespace {

/// Returns whether `values` contains the given value.
template <class T>
bool holds(const std::vector<T>& values, T wanted) {
  return std::find(values.begin(), values.end(), wanted) != values.end();
}

Descriptor engine_of(const Descriptor& config) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.raw();
  config.fill(CUDNN_ATTR_ENGINECFG_ENGINE, std::span(&raw, 1));
  return engine;
}

std::vector<cudnnBackendNumericalNote_t> notes_of(const Descriptor& engine) {
  return engine.get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
}

/// Returns whether it uses Winograd's algorithm or FFT.
bool transforms(const std::vector<cudnnBackendNumericalNote_t>& notes) {
  return std::ranges::any_of(notes, [](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_FFT || note == CUDNN_NUMERICAL_NOTE_WINOGRAD ||
           note == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 ||
           note == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 ||
           note == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13;
  });
}

}  // namespace

ConvPlan::ConvPlan(const DeviceDescription& device,
                   std::shared_ptr<const ConvGraph> graph,
                   Descriptor config)
    : graph_(std::move(graph)),
      config_(std::move(config)),
      plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, *config_)
      .set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device.descriptor())
      .finalize("cannot make a plan");
  workspace_ =
      static_cast<std::size_t>(plan_.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
}

ConvPlan::ConvPlan(const DeviceDescription& device, std::string_view json)
    : plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device.descriptor())
      .set_all(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
               std::span<const char>(json.data(), json.size()))
      .finalize("cannot use a stored plan");
  workspace_ =
      static_cast<std::size_t>(plan_.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
}

std::string ConvPlan::json() const {
  const auto text = plan_.get_all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  return {text.begin(), text.end()};
}

Engine ConvPlan::engine() const {
  const Descriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = config.raw();
  plan_.fill(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, std::span(&raw, 1));
  const Descriptor engine = engine_of(config);
  const auto notes = notes_of(engine);
  return {engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX),
          holds(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE),
          !holds(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC),
          transforms(notes)};
}

void ConvPlan::run(cudnnHandle_t handle, const ConvOperands& operands, void* workspace) const {
  const std::array<std::int64_t, 4> ids{kX, kW, kY, kBias};
  // cuDNN's interface takes only non-const pointers; the graph determines which ones it writes.
  const std::array<void*, 4> pointers{const_cast<void*>(operands.x),
                                      const_cast<void*>(operands.w),
                                      const_cast<void*>(operands.y),
                                      const_cast<void*>(operands.bias)};
  const std::size_t count = operands.bias != nullptr ? 4 : 3;
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(ids).first(count))
      .set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(pointers).first(count))
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace)
      .finalize("refuses the operands");
  check_cudnn(api().execute(handle, plan_.raw(), pack.raw()), "cannot run a convolution");
}

/// A search that goes through cuDNN's suggestions until there are enough plans.
class PlanSearch {
 public:
  PlanSearch(const DeviceDescription& device,
             const ConvProblem& problem,
             const CudaOptions& options)
      : device_(device),
        problem_(problem),
        options_(options),
        graph_(std::make_shared<const ConvGraph>(problem)) {}

  std::vector<ConvPlan> find(std::size_t count) {
    // Mode A is quick and good, the fallback covers every shape, and B is good but slow.
    for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
      if (found_.empty()) ask(mode, count);
    if (found_.empty() && second_choice_.empty()) ask(CUDNN_HEUR_MODE_B, count);
    for (ConvPlan& plan : second_choice_)
      if (found_.size() < count) found_.push_back(std::move(plan));
    if (found_.empty() && smallest_workspace_) found_.push_back(std::move(*smallest_workspace_));
    return std::move(found_);
  }

 private:
  void ask(cudnnBackendHeurMode_t mode, std::size_t count) {
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_->descriptor())
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode)
        .set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device_.descriptor());
    // Not an error: this mode has no suggestion for the problem.
    if (api().finalize(heuristics.raw()) != CUDNN_STATUS_SUCCESS) return;
    // The first few are cheap to check and nearly always enough.
    std::size_t seen = 0;
    for (const std::size_t room : {std::size_t{8}, std::size_t{64}}) {
      std::vector<Descriptor> ways = suggestions(heuristics, std::max(room, count));
      for (; seen < ways.size() && found_.size() < count; ++seen)
        consider(std::move(ways[seen]), count);
      if (found_.size() >= count || ways.size() < room) return;
    }
  }

  static std::vector<Descriptor> suggestions(const Descriptor& heuristics, std::size_t room) {
    std::vector<Descriptor> ways;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::size_t i = 0; i < room; ++i)
      raw.push_back(ways.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).raw());
    const std::int64_t got = heuristics.fill(CUDNN_ATTR_ENGINEHEUR_RESULTS, raw);
    while (ways.size() > static_cast<std::size_t>(got)) ways.pop_back();
    return ways;
  }

  void consider(Descriptor config, std::size_t count) {
    if (!allowed(config)) return;
    const bool wanted =
        !tensor_cores_fit() || holds(notes_of(engine_of(config)), CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    if (!wanted && second_choice_.size() >= count) return;
    try {
      ConvPlan plan(device_, graph_, std::move(config));
      if (plan.workspace() <= options_.workspace_limit)
        (wanted ? found_ : second_choice_).push_back(std::move(plan));
      else if (!smallest_workspace_ || plan.workspace() < smallest_workspace_->workspace())
        smallest_workspace_ = std::move(plan);
    } catch (const DeviceError&) {
      // Suggested but not possible; the next suggestion is tried.
    }
  }

  [[nodiscard]] bool tensor_cores_fit() const { return is_half(problem_.dtype) || options_.tf32; }

  [[nodiscard]] bool allowed(const Descriptor& config) const {
    const Descriptor engine = engine_of(config);
    const auto numerical = notes_of(engine);
    const auto behavior =
        engine.get_all<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE);
    if (options_.deterministic && holds(numerical, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
      return false;
    if (holds(numerical, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
    if (!problem_.winograd && transforms(numerical)) return false;
    const bool rounds_factors = holds(numerical, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ||
                                holds(numerical, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
    if (problem_.dtype == DType::f32 && !options_.tf32 && rounds_factors) return false;
    return !holds(behavior, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
  }

  const DeviceDescription& device_;
  const ConvProblem& problem_;
  const CudaOptions& options_;
  std::shared_ptr<const ConvGraph> graph_;
  std::vector<ConvPlan> found_;
  std::vector<ConvPlan> second_choice_;  // without tensor cores although they could be used
  std::optional<ConvPlan> smallest_workspace_;
};

std::vector<ConvPlan> find_plans(const DeviceDescription& device,
                                 const ConvProblem& problem,
                                 const CudaOptions& options,
                                 std::size_t count) {
  return PlanSearch(device, problem, options).find(count);
}

}  // namespace learn::cuda::cudnn
