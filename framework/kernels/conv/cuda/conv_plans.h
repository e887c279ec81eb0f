#pragma once
#include "framework/kernels/conv/cuda/conv_plan.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace learn::cuda::cudnn {

/// Runs the plans and says which is the fastest.
using PlanRace = std::function<std::size_t(std::span<const ConvPlan>)>;

/// The plans of one device, each chosen once and kept: in memory, and, if the options name a
/// folder, on disk for the next run. A file is used only if all of its key matches: the versions,
/// the kind of device, the sizes, the options. So files may be taken to another machine of that
/// kind.
class ConvPlans {
 public:
  ConvPlans(DeviceDescription device, const CudaOptions& options)
      : device_(std::move(device)), options_(options) {}

  /// Throws DeviceError if cuDNN has no plan. `race` chooses among the best plans for a problem
  /// that is not known yet; if it is empty, cuDNN's first one is taken.
  const ConvPlan& plan(const ConvProblem& problem, const PlanRace& race);
  /// Returns the next best plan instead of the last one of `plan`, which could not be run; null if
  /// none is left. `keep` writes it to disk after a successful run.
  const ConvPlan* next(const ConvProblem& problem);
  /// Writes the plan of a problem to the place of the one that `plan` took for it.
  void keep(const ConvProblem& problem, const PlanRace& race) const;

 private:
  /// The plan of a problem, and those before it that could not be run.
  struct Choice {
    ConvPlan plan;
    std::vector<std::string> failed = {};
  };

  [[nodiscard]] std::string key(const ConvProblem& problem, bool timed) const;
  [[nodiscard]] std::optional<ConvPlan> load(const std::string& key) const;
  void store(const std::string& key, const ConvPlan& plan) const;
  [[nodiscard]] ConvPlan choose(const ConvProblem& problem, const PlanRace& race) const;

  DeviceDescription device_;
  CudaOptions options_;
  std::unordered_map<ConvProblem, Choice, ConvProblemHash> plans_;
};

}  // namespace learn::cuda::cudnn
