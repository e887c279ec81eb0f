#pragma once
#include "framework/kernels/conv/cuda/conv_plan.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace learn::cuda::cudnn {

/// Runs the plans and returns the index of the fastest.
using PlanRace = std::function<std::size_t(std::span<const ConvPlan>)>;

/// The plans of one device, each chosen once and kept in memory and, if the options name a folder,
/// on disk for the next run. A file is used only if its whole key matches: the versions, the kind
/// of device, the sizes and the options. So files may be copied to another machine of the same
/// kind.
class ConvPlans {
 public:
  ConvPlans(DeviceDescription device, const CudaOptions& options)
      : device_(std::move(device)), options_(options) {}

  /// Returns the plan for a problem. Throws DeviceError if cuDNN has no plan. For a problem that is
  /// not known yet, `race` chooses among the best plans; if `race` is empty, cuDNN's first one is
  /// used.
  const ConvPlan& plan(const ConvProblem& problem, const PlanRace& race);
  /// Replaces the plan that `plan` returned last, which failed to run, with the next best one.
  /// Returns null if no plan is left. After a successful run, `keep` writes it to disk.
  const ConvPlan* next(const ConvProblem& problem);
  /// Stores the current plan of a problem on disk, in place of the one that `plan` chose.
  void keep(const ConvProblem& problem, const PlanRace& race) const;

 private:
  /// The plan of a problem and the ones before it that failed to run.
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
