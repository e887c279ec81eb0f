// The choice of plans, on descriptions of devices: no GPU and no fake.
#include "framework/kernels/conv/conv.h"
#include "framework/kernels/conv/cuda/conv_plans.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace learn;
using namespace learn::cuda::cudnn;
using kernels::conv2d_geometry;

namespace {

DeviceDescription device(const std::string& name) {
  std::ifstream in(LEARN_DEVICES "/" + name + ".json");
  const std::string json{std::istreambuf_iterator<char>(in), {}};
  return DeviceDescription(std::string_view(json));
}

constexpr ConvGeometry kLayer{.n = 512,
                              .h = 32,
                              .w = 32,
                              .c = 64,
                              .k = 128,
                              .r = 3,
                              .s = 3,
                              .p = 32,
                              .q = 32,
                              .options = Conv2dOptions::symmetric(1, 1)};
constexpr std::size_t kAll = 64;

std::size_t smallest(const std::vector<ConvPlan>& plans) {
  return std::min_element(
             plans.begin(),
             plans.end(),
             [](const ConvPlan& a, const ConvPlan& b) { return a.workspace() < b.workspace(); })
      ->workspace();
}

}  // namespace

TEST_CASE("determinism, TF32 and scratch memory decide which plans there are") {
  const DeviceDescription h200 = device("h200");
  const ConvProblem problem{ConvPass::backward_data, kLayer, DType::f32};
  const CudaOptions strict{.workspace_limit = std::size_t{4} << 30U};
  CudaOptions loose = strict;
  const std::vector<ConvPlan> exact = find_plans(h200, problem, strict, kAll);
  REQUIRE(!exact.empty());
  loose.deterministic = false;
  CHECK(find_plans(h200, problem, loose, kAll).size() > exact.size());
  loose = strict;
  loose.tf32 = true;
  const std::vector<ConvPlan> rounded = find_plans(h200, problem, loose, kAll);
  CHECK(rounded.size() > exact.size());
  CHECK(rounded[0].json() != exact[0].json());
  // Every plan needs something here; below the limit are only those that need no more than that.
  loose = strict;
  loose.workspace_limit = smallest(exact);
  for (const ConvPlan& plan : find_plans(h200, problem, loose, kAll))
    CHECK(plan.workspace() <= loose.workspace_limit);
  loose.workspace_limit = 0;
  const std::vector<ConvPlan> modest = find_plans(h200, problem, loose, kAll);
  CHECK((modest.size() == 1 || smallest(modest) == 0));
}

TEST_CASE("where Winograd is off, no plan transforms its operands") {
  std::map<std::string, std::ptrdiff_t> transforming;  // where it is on
  for (const char* name : {"h200", "a100"})
    for (const ConvPass pass :
         {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weight}) {
      CAPTURE(std::string(name));
      CAPTURE(std::string(name_of(pass)));
      ConvProblem problem{pass, kLayer, DType::f32};
      const auto count = [&] {
        const std::vector<ConvPlan> plans = find_plans(device(name), problem, {}, kAll);
        REQUIRE(!plans.empty());
        return std::ranges::count_if(plans,
                                     [](const ConvPlan& plan) { return plan.engine().winograd; });
      };
      transforming[name] += count();
      const std::string with = problem.text();
      problem.winograd = false;
      CHECK(count() == 0);
      CHECK(problem.text() == with + " without winograd");  // so that a stored plan is not taken
    }
  CHECK(transforming["a100"] > 0);  // cuDNN 9.19 suggests none for an H200
}

TEST_CASE("halves are multiplied by tensor cores wherever an engine can, f32 by none") {
  const auto pointwise = [](const Shape& x, std::int64_t k, std::int64_t stride) {
    return conv2d_geometry(x, {k, 1, 1, x[3]}, Conv2dOptions::symmetric(stride, 0));
  };
  // cuDNN's first suggestions for these were engines 1 and 0, without tensor cores (9.19, H200).
  const std::pair<ConvPass, ConvGeometry> cases[] = {
      {ConvPass::forward, pointwise({512, 32, 32, 64}, 128, 2)},
      {ConvPass::forward, pointwise({128, 16, 16, 128}, 256, 2)},
      {ConvPass::backward_data, pointwise({64, 4, 4, 128}, 256, 1)},
      {ConvPass::backward_weight, pointwise({64, 8, 8, 64}, 128, 1)}};
  for (const char* name : {"h200", "a100", "rtx4090", "b200"})
    for (const auto& [pass, geometry] : cases)
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const ConvProblem problem{pass, geometry, dtype};
        CAPTURE(std::string(name));
        CAPTURE(problem.text());
        const std::vector<ConvPlan> plans = find_plans(device(name), problem, {}, 8);
        REQUIRE(!plans.empty());
        CHECK(plans[0].engine().tensor_cores == is_half(dtype));
        for (const ConvPlan& plan : plans) CHECK(plan.engine().deterministic);
        // Plans without it follow, for the timing to try.
        CHECK(std::is_partitioned(plans.begin(), plans.end(), [](const ConvPlan& plan) {
          return plan.engine().tensor_cores;
        }));
      }
}

TEST_CASE("plans survive as text, damaged text does not pass") {
  const DeviceDescription a100 = device("a100");
  const ConvProblem problem{ConvPass::backward_weight, kLayer, DType::f16};
  const ConvPlan plan = std::move(find_plans(a100, problem, {})[0]);
  const ConvPlan again(a100, plan.json());
  CHECK(again.json() == plan.json());
  CHECK(again.engine().index == plan.engine().index);
  CHECK(again.workspace() == plan.workspace());
  const std::string text = plan.json();
  CHECK_THROWS_AS(ConvPlan(a100, std::string_view(text).substr(0, text.size() / 2)), DeviceError);
  CHECK_THROWS_WITH_AS(
      DeviceDescription(std::string_view("{}")), doctest::Contains("cuDNN"), DeviceError);
}

TEST_CASE("stored plans belong to a kind of device, in any slot and at any clock rate") {
  const TemporaryFolder folder;
  const CudaOptions options{.plan_cache = folder.path().string()};
  const ConvProblem problem{ConvPass::forward, kLayer, DType::f16};
  const std::string h200 = device("h200").json();
  const auto files_after = [&](const std::string& json) {
    (void)ConvPlans(DeviceDescription(std::string_view(json)), options).plan(problem, {});
    return std::distance(std::filesystem::directory_iterator(folder.path()),
                         std::filesystem::directory_iterator());
  };
  const test::LogFile log;
  const auto changed = [&](const std::string& field, const std::string& value) {
    std::string text = h200;
    const std::size_t at = text.find(field + "\":");
    REQUIRE(at != std::string::npos);
    const std::size_t from = text.find_first_not_of(": ", at + field.size() + 1);
    text.replace(from, text.find_first_of(",}", from) - from, value);
    REQUIRE(text != h200);
    return text;
  };
  CHECK(files_after(h200) == 1);
  CHECK(files_after(changed("pciDeviceId", "7")) == 1);
  CHECK(files_after(changed("cudaDeviceId", "3")) == 1);
  CHECK(files_after(changed("smClockRateKHz", "1200000")) == 1);
  CHECK(files_after(changed("multiProcessorCount", "66")) == 2);  // a slice of it
  CHECK(files_after(changed("deviceName", "\"NVIDIA H300\"")) == 3);
  CHECK(files_after(changed("driverVer", "13010")) == 4);  // cuDNN would not take the plan
  CHECK(log.text().empty());                               // no plan that was found was refused
}

TEST_CASE("odd convolutions have plans on every device, with a bias and for added gradients") {
  const auto same = [](std::int64_t stride, std::int64_t groups) {
    return Conv2dOptions::symmetric(stride, 1, groups);
  };
  const ConvGeometry odd[] = {
      conv2d_geometry({2, 5, 6, 3}, {4, 3, 3, 3}, same(1, 1)),
      // Pixels that no window reads.
      conv2d_geometry(
          {1, 9, 7, 2}, {3, 3, 2, 2}, {.stride_h = 2, .stride_w = 3, .pad_top = 1, .pad_right = 1}),
      // Padding beyond the window.
      conv2d_geometry(
          {1, 3, 3, 2},
          {3, 2, 2, 2},
          {.stride_w = 2, .pad_top = 3, .pad_bottom = 1, .pad_left = 2, .pad_right = 4}),
      conv2d_geometry({5, 1, 1, 8}, {9, 3, 3, 8}, same(1, 1)),
      conv2d_geometry({2, 5, 5, 6}, {4, 3, 3, 3}, same(1, 2)),
      // One channel each.
      conv2d_geometry({2, 6, 6, 5}, {5, 3, 3, 1}, same(2, 5))};
  for (const char* name : {"h200", "h100", "a100", "a10", "rtx4090", "b200", "rtx5090"}) {
    const DeviceDescription one = device(name);
    for (const ConvGeometry& g : odd)
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const ConvGeometry padded = padded_geometry(g, dtype);
        for (const ConvPass pass :
             {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weight}) {
          const bool forward = pass == ConvPass::forward;
          const ConvProblem problem{.pass = pass,
                                    .geometry = padded,
                                    .dtype = dtype,
                                    .bias = forward,
                                    .accumulate = !forward};
          CAPTURE(name);
          CAPTURE(problem.text());
          CHECK(find_plans(one, problem, {}).size() == 1);
        }
      }
  }
}

TEST_CASE("operands of more than 2^31 elements have plans too") {
  ConvGeometry large = kLayer;
  large.n = 40000;  // 2.6 and 5.2 thousand million elements
  for (const char* name : {"h200", "a100"})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const ConvPass pass :
           {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weight}) {
        const ConvProblem problem{pass, large, dtype};
        CAPTURE(name);
        CAPTURE(problem.text());
        const std::vector<ConvPlan> plans = find_plans(device(name), problem, {});
        REQUIRE(plans.size() == 1);
        CHECK(plans[0].workspace() <= CudaOptions{}.workspace_limit);
      }
}

TEST_CASE("channels are padded for tensor cores only") {
  const ConvGeometry stem{.n = 1, .c = 3, .k = 10};
  CHECK(padded_geometry(stem, DType::f16).c == 8);
  CHECK(padded_geometry(stem, DType::bf16).k == 16);
  CHECK(padded_geometry(stem, DType::f32) == stem);
  const ConvGeometry grouped{.n = 1, .c = 3, .k = 6, .options = {.groups = 3}};
  CHECK(padded_geometry(grouped, DType::f16) == grouped);
}
