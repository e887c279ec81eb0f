#include "framework/kernels/conv/cuda/conv_plans.h"

#include "framework/core/fnv1a.h"
#include "framework/core/keyed_file.h"
#include "framework/core/log.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace learn::cuda::cudnn {
namespace {

/// Plans that are timed, or tried one after the other. More would rarely win, and each takes time.
constexpr std::size_t kTimedPlans = 8;
/// Upper limit for a plan file; plans have a few thousand bytes.
constexpr std::uint64_t kMaxPlanBytes = 1U << 20U;

std::filesystem::path file_of(const std::string& folder, const std::string& key) {
  // A hash is enough because the file contains the key itself.
  return std::filesystem::path(folder) / fmt::format("conv-{:016x}.plan", fnv1a(key));
}

}  // namespace

const ConvPlan& ConvPlans::plan(const ConvProblem& problem, const PlanRace& race) {
  if (const auto known = plans_.find(problem); known != plans_.end()) return known->second.plan;
  const std::string wanted = key(problem, race != nullptr);
  if (std::optional<ConvPlan> stored = load(wanted))
    return plans_.emplace(problem, Choice{std::move(*stored)}).first->second.plan;
  const ConvPlan& chosen =
      plans_.emplace(problem, Choice{choose(problem, race)}).first->second.plan;
  store(wanted, chosen);
  return chosen;
}

void ConvPlans::keep(const ConvProblem& problem, const PlanRace& race) const {
  store(key(problem, race != nullptr), plans_.at(problem).plan);
}

const ConvPlan* ConvPlans::next(const ConvProblem& problem) {
  Choice& choice = plans_.at(problem);
  choice.failed.push_back(choice.plan.json());
  for (ConvPlan& candidate : find_plans(device_, problem, options_, kTimedPlans)) {
    const std::string json = candidate.json();
    if (std::find(choice.failed.begin(), choice.failed.end(), json) != choice.failed.end())
      continue;
    choice.plan = std::move(candidate);
    return &choice.plan;
  }
  return nullptr;
}

ConvPlan ConvPlans::choose(const ConvProblem& problem, const PlanRace& race) const {
  std::vector<ConvPlan> found =
      find_plans(device_, problem, options_, race != nullptr ? kTimedPlans : 1);
  if (found.empty())
    fail<DeviceError>("cuDNN {} has no {}plan for conv2d {}",
                      api().get_version(),
                      options_.deterministic ? "deterministic " : "",
                      problem.text());
  const std::size_t best = race != nullptr ? race(found) : 0;
  if (found[best].workspace() > options_.workspace_limit)
    log::warn("[cudnn] conv2d {} needs {} MiB of scratch memory, more than the limit of {} MiB",
              problem.text(),
              found[best].workspace() >> 20U,
              options_.workspace_limit >> 20U);
  return std::move(found[best]);
}

std::string ConvPlans::key(const ConvProblem& problem, bool timed) const {
  return fmt::format(
      "learn convolution plan 2; cuDNN {}; {}; deterministic {}; tf32 {}; workspace limit {}; "
      "timed {}; device {}",
      api().get_version(),
      problem.text(),
      options_.deterministic,
      options_.tf32,
      options_.workspace_limit,
      timed,
      device_.kind());
}

std::optional<ConvPlan> ConvPlans::load(const std::string& key) const {
  if (options_.plan_cache.empty()) return std::nullopt;
  const std::filesystem::path file = file_of(options_.plan_cache, key);
  try {
    const std::optional<std::string> json = read_keyed_file(file, key, kMaxPlanBytes);
    if (!json) return std::nullopt;
    return ConvPlan(device_, *json);
  } catch (const Error& error) {
    log::warn("[cudnn] ignoring the stored plan {}: {}", file.string(), error.what());
    return std::nullopt;
  }
}

void ConvPlans::store(const std::string& key, const ConvPlan& plan) const {
  if (options_.plan_cache.empty()) return;
  const std::filesystem::path file = file_of(options_.plan_cache, key);
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  // Written to a temporary file and renamed, so that another process never sees a part of it.
  std::filesystem::path part = file;
  part += fmt::format(".{}", getpid());
  std::ofstream(part, std::ios::binary) << key << '\n' << plan.json();
  if (!error) std::filesystem::rename(part, file, error);
  if (error)
    log::warn("[cudnn] cannot store a plan in {}: {}", options_.plan_cache, error.message());
}

}  // namespace learn::cuda::cudnn
