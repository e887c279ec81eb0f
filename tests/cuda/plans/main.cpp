// For every convolution of every model, its three passes and three types, on five devices of which
// none is needed: does cuDNN have a deterministic plan within the workspace limit? Prints a table
// (kept as tests/cuda/plans.md) and fails unless all have one.
#include "framework/backend/cuda/cudnn/conv_plan.h"
#include "framework/core/dtype.h"
#include "tests/cuda/plans/conv_census.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <unordered_map>

using namespace learn;
using namespace learn::backend::cuda::cudnn;

namespace {

constexpr std::int64_t kBatch = 128;  // what `learn train` uses unless told otherwise
constexpr std::array kDevices{"h200", "a100", "a10", "rtx4090", "b200"};
constexpr std::array kTypes{DType::f32, DType::f16, DType::bf16};
constexpr std::array kPasses{ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weight};

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What one device says of all problems so far.
class PlannedDevice {
 public:
  explicit PlannedDevice(const std::string& name)
      : description_(std::string_view(read(LEARN_DEVICES "/" + name + ".json"))) {}

  /// Bytes of scratch memory; negative if there is no plan within the limit.
  std::int64_t workspace(const ConvProblem& problem) {
    const auto [known, is_new] = workspaces_.try_emplace(problem, -1);
    if (!is_new) return known->second;
    const std::vector<ConvPlan> plans = find_plans(description_, problem, options_);
    if (!plans.empty() && plans[0].workspace() <= options_.workspace_limit)
      known->second = static_cast<std::int64_t>(plans[0].workspace());
    else
      fmt::print(stderr, "no plan: {} on {}\n", problem.text(), description_.json());
    return known->second;
  }
  [[nodiscard]] std::size_t problems() const { return workspaces_.size(); }

 private:
  DeviceDescription description_;
  CudaOptions options_;
  std::unordered_map<ConvProblem, std::int64_t, ConvProblemHash> workspaces_;
};

struct Cell {
  std::size_t planned = 0;
  std::size_t wanted = 0;
  std::int64_t workspace = 0;  // the largest
};

Cell plan_all(PlannedDevice& device,
              const std::vector<ConvGeometry>& convs,
              ConvPass pass,
              DType dtype) {
  Cell cell;
  for (const ConvGeometry& conv : convs) {
    const std::int64_t bytes = device.workspace({pass, padded_geometry(conv, dtype), dtype});
    ++cell.wanted;
    if (bytes < 0) continue;
    ++cell.planned;
    cell.workspace = std::max(cell.workspace, bytes);
  }
  return cell;
}

}  // namespace

int main() {
  std::vector<PlannedDevice> devices;
  devices.reserve(kDevices.size());
  for (const char* name : kDevices) devices.emplace_back(name);
  fmt::print(
      "# Convolution plans, made without a GPU\n\n"
      "Written by `tests_cuda_plans`, cuDNN {}. Batch {}; a cell is: plans found / wanted, and "
      "the\n"
      "largest workspace in MiB (the limit is {}). Every plan is deterministic and multiplies f32 "
      "as f32.\n\n"
      "| model | pass | type |",
      api().get_version(),
      kBatch,
      CudaOptions{}.workspace_limit >> 20U);
  for (const char* name : kDevices) fmt::print(" {} |", name);
  fmt::print("\n| --- | --- | --- |");
  for (std::size_t i = 0; i < kDevices.size(); ++i) fmt::print(" --- |");
  fmt::print("\n");
  bool all = true;
  for (const auto& [model, convs] : test::conv_census(kBatch)) {
    if (convs.empty()) continue;
    for (const ConvPass pass : kPasses)
      for (const DType dtype : kTypes) {
        fmt::print("| {} | {} | {} |", model, name_of(pass), name_of(dtype));
        for (PlannedDevice& device : devices) {
          const Cell cell = plan_all(device, convs, pass, dtype);
          all &= cell.planned == cell.wanted;
          fmt::print(" {}/{} {:.1f} |",
                     cell.planned,
                     cell.wanted,
                     static_cast<double>(cell.workspace) / (1 << 20));
        }
        fmt::print("\n");
      }
  }
  fmt::print("\n{} different problems on each device.\n", devices[0].problems());
  return all ? 0 : 1;
}
