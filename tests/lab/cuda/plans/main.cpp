// For every convolution of every model, its three passes and three types, at the batch sizes people
// use, on devices of which none is needed: which plan does cuDNN have? Prints tables (kept as
// tests/lab/cuda/plans.md) and fails unless every problem has a deterministic plan within the
// workspace limit, halves on tensor cores.
#include "framework/core/dtype.h"
#include "framework/core/function_ref.h"
#include "framework/kernels/conv/cuda/conv_plan.h"
#include "tests/lab/cuda/plans/conv_census.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace learn;
using namespace learn::cuda::cudnn;

namespace {

constexpr std::array kDevices{"h200", "h100", "a100", "a10", "rtx4090", "b200", "rtx5090"};
constexpr std::int64_t kBatch = 128;  // what `learn train` uses by default
constexpr std::array<std::int64_t, 3> kMoreBatches{64, 512, 1024};  // on the first device
constexpr std::array kTypes{DType::f32, DType::f16, DType::bf16};
constexpr std::array kPasses{ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weight};

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The plan of one problem, or none.
struct Planned {
  bool found = false;
  Engine engine{};
  std::size_t workspace = 0;  // bytes
};

/// Results of one device for all problems so far.
class PlannedDevice {
 public:
  explicit PlannedDevice(const std::string& name)
      : name_(name), description_(std::string_view(read(LEARN_DEVICES "/" + name + ".json"))) {}

  const Planned& plan(const ConvProblem& problem) {
    const auto [known, is_new] = known_.try_emplace(problem);
    if (!is_new) return known->second;
    const std::vector<ConvPlan> plans = find_plans(description_, problem, options_);
    if (!plans.empty())
      known->second = {plans[0].workspace() <= options_.workspace_limit,
                       plans[0].engine(),
                       plans[0].workspace()};
    const Planned& now = known->second;
    if (!now.found)
      complain(problem, "has no plan within the limit of workspace");
    else if (!now.engine.deterministic)
      complain(problem, "may have other bits in the next run");
    else if (now.engine.tensor_cores != is_half(problem.dtype))
      complain(problem,
               now.engine.tensor_cores ? "rounds f32 for tensor cores" : "has no tensor cores");
    return now;
  }
  [[nodiscard]] std::size_t problems() const { return known_.size(); }
  [[nodiscard]] bool good() const { return good_; }

 private:
  void complain(const ConvProblem& problem, const char* what) {
    good_ = false;
    fmt::print(stderr, "{}: {} {}\n", name_, problem.text(), what);
  }

  std::string name_;
  DeviceDescription description_;
  CudaOptions options_;
  std::unordered_map<ConvProblem, Planned, ConvProblemHash> known_;
  bool good_ = true;
};

/// All convolutions of a model, one pass and type of them on one device.
class Cell {
 public:
  Cell(PlannedDevice& device, const std::vector<ConvGeometry>& convs, ConvPass pass, DType dtype) {
    for (const ConvGeometry& conv : convs) {
      const Planned& plan = device.plan({pass, padded_geometry(conv, dtype), dtype});
      ++wanted_;
      if (!plan.found) continue;
      ++found_;
      ++engines_[plan.engine.index];
      workspace_ = std::max(workspace_, plan.workspace);
    }
  }
  /// Plans found / requested, MiB of the largest workspace.
  [[nodiscard]] std::string summary() const {
    return fmt::format("{}/{} {:.1f}", found_, wanted_, mebibytes());
  }
  /// Each engine with how many convolutions it computes, MiB of the largest workspace.
  [[nodiscard]] std::string engines() const {
    std::string text;
    for (const auto& [index, count] : engines_) text += fmt::format("{} x {}, ", index, count);
    return text + fmt::format("{:.1f}", mebibytes());
  }

 private:
  [[nodiscard]] double mebibytes() const { return static_cast<double>(workspace_) / (1 << 20); }

  std::size_t found_ = 0;
  std::size_t wanted_ = 0;
  std::map<std::int64_t, int> engines_;
  std::size_t workspace_ = 0;  // the largest
};

/// The tables, as they are kept in tests/lab/cuda/plans.md.
class Report {
 public:
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void head(const std::vector<std::string>& columns) {
    print("| model | pass | type |");
    for (const std::string& column : columns) print(" {} |", column);
    print("\n| --- | --- | --- |");
    for (std::size_t i = 0; i < columns.size(); ++i) print(" --- |");
    print("\n");
  }
  /// A row for each model, pass and type; `cells` returns its content.
  void rows(FunctionRef<std::string(const std::vector<ConvGeometry>&, ConvPass, DType)> cells) {
    for (const auto& [model, convs] : census_) {
      if (convs.empty()) continue;
      for (const ConvPass pass : kPasses)
        for (const DType dtype : kTypes)
          print("| {} | {} | {} |{}\n",
                model,
                name_of(pass),
                name_of(dtype),
                cells(convs, pass, dtype));
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::vector<test::ModelConvs> census_ = test::conv_census();
  std::string text_;
};

std::vector<ConvGeometry> at_batch(std::vector<ConvGeometry> convs, std::int64_t batch) {
  for (ConvGeometry& conv : convs) conv.n = batch;
  return convs;
}

std::string report(std::vector<PlannedDevice>& devices) {
  Report out;
  out.print(
      "# Convolution plans, made without a GPU\n\n"
      "Written by `tests_cuda_plans`, cuDNN {}. Every plan is deterministic; f32 is multiplied as "
      "f32, halves by\n"
      "tensor cores. At batch {}: plans found / requested, and the largest workspace in MiB (the "
      "limit is {}).\n\n",
      api().get_version(),
      kBatch,
      CudaOptions{}.workspace_limit >> 20U);
  out.head({kDevices.begin(), kDevices.end()});
  out.rows([&](const std::vector<ConvGeometry>& convs, ConvPass pass, DType dtype) {
    std::string row;
    for (PlannedDevice& device : devices)
      row += fmt::format(" {} |", Cell(device, at_batch(convs, kBatch), pass, dtype).summary());
    return row;
  });
  out.print("\nOn {}, by batch: engine x convolutions, and the largest workspace in MiB.\n\n",
            kDevices[0]);
  std::vector<std::string> columns;
  columns.reserve(kMoreBatches.size());
  for (const std::int64_t batch : kMoreBatches) columns.push_back(std::to_string(batch));
  out.head(columns);
  out.rows([&](const std::vector<ConvGeometry>& convs, ConvPass pass, DType dtype) {
    std::string row;
    for (const std::int64_t batch : kMoreBatches)
      row += fmt::format(" {} |", Cell(devices[0], at_batch(convs, batch), pass, dtype).engines());
    return row;
  });
  out.print("\n{} different problems on {}, {} on each of the others.\n",
            devices[0].problems(),
            kDevices[0],
            devices[1].problems());
  return out.text();
}

/// Is the file what this cuDNN says? One of another version is not comparable.
bool is_up_to_date(const std::string& file, const std::string& text) {
  const std::string kept = read(file);
  const std::string version = fmt::format("cuDNN {}.", api().get_version());
  if (kept == text || (!kept.empty() && kept.find(version) == std::string::npos)) return true;
  fmt::print(
      stderr,
      "{} is not what tests_cuda_plans prints; look at what has changed, and write it anew\n",
      file);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<PlannedDevice> devices;
  devices.reserve(kDevices.size());
  for (const char* name : kDevices) devices.emplace_back(name);
  const std::string text = report(devices);
  fmt::print("{}", text);
  bool good = argc < 2 || is_up_to_date(argv[1], text);
  for (const PlannedDevice& device : devices) good &= device.good();
  return good ? 0 : 1;
}
