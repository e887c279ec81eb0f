// Device memory of a training, which does not grow over time.
#include "callbacks/precision/mixed_precision.h"
#include "tests/lab/cuda/short_training.h"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cstdio>
#include <string_view>

using namespace learn;

namespace {

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// Bytes that all processes together have of the device.
std::size_t device_bytes_used() {
  std::size_t available = 0;
  std::size_t total = 0;
  REQUIRE(cudaMemGetInfo(&available, &total) == cudaSuccess);
  return total - available;
}

void check_no_growth(test::ShortTraining training, std::string_view precision) {
  training = test::sized(training);
  CAPTURE(training.model);
  const std::size_t before = device_bytes_used();
  test::ShortRun run({.device = Device::cuda()}, training, [&](Learner& learn) {
    if (precision == "fp16") callbacks::to_fp16(learn);
    learn.remove(*learn.find<Recorder>());  // its history grows by design
  });
  // The first epoch sees both sizes of batch, the update and the validation pass.
  run.fit();
  const Arena::Stats step = run.ctx.step().stats();
  const Arena::Stats persistent = run.ctx.persistent().stats();
  run.ctx.step().freeze();
  run.ctx.persistent().freeze();
  CHECK_NOTHROW(run.fit());
  CHECK(run.ctx.step().stats().peak == step.peak);
  CHECK(run.ctx.step().stats().blocks == step.blocks);
  CHECK(run.ctx.persistent().stats().used == persistent.used);
  CHECK(run.ctx.persistent().stats().blocks == persistent.blocks);
  // A line that tests/lab/gpu/run.py takes into its summary.
  fmt::print(
      "memory: {} {} batch {}: parameters, state and data {:.1f} MiB, a step at most {:.1f} MiB, "
      "the whole process {:.0f} MiB of the device\n",
      training.model,
      precision,
      training.batch,
      mebibytes(persistent.used),
      mebibytes(step.peak),
      mebibytes(device_bytes_used() - before));
  std::fflush(stdout);
}

}  // namespace

TEST_CASE("no arena grows after the first epoch") {
  for (const std::string_view precision : {"fp32", "fp16"}) {
    check_no_growth({.model = "resnet9", .batch = 512, .steps = 4}, precision);
    if (test::interpreted()) continue;
    check_no_growth({.model = "darknet", .steps = 4}, precision);
    check_no_growth({.model = "resnet18", .batch = 512, .steps = 4}, precision);
    check_no_growth({.model = "wrn_22", .batch = 128, .steps = 4}, precision);
  }
}
