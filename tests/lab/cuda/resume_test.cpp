// A training that was saved on one device continues on another one.
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "framework/io/checkpoint.h"
#include "tests/lab/cuda/short_training.h"
#include "tests/support/compare.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

using namespace learn;

namespace {

constexpr std::int64_t kEpochs = 2;

/// At a rate at which rounding stays small (see models_test.cpp). Two steps make an epoch where
/// kernels are interpreted.
test::ShortTraining training() {
  test::ShortTraining training = test::sized({.model = "resnet9", .steps = 6, .lr = 1e-3F});
  if (test::interpreted()) training.steps = 2;
  return training;
}

/// Trains on `device` until batch `stop`, which is in the middle of the second epoch, and saves.
std::vector<Tensor> train_and_save(const ContextOptions& device,
                                   const test::ShortRun::Prepare& prepare,
                                   std::int64_t stop,
                                   const std::filesystem::path& path) {
  test::ShortRun run(device, training(), prepare);
  const auto end = [stop](Learner& learn) {
    if (learn.progress().training && learn.progress().batch_clock == stop)
      learn.cancel(Scope::train);
  };
  callbacks::on(run.learn, Event::batch_end, end, "end", order::kTracker);
  const auto keep = [&](Learner& learn) {
    save_state(path, [&](StateVisitor& v) { learn.visit_state(v); });
  };
  callbacks::on(run.learn, Event::train_end, keep, "keep", order::kTracker);
  run.fit(kEpochs);
  return run.values();
}

/// All losses of two epochs that ran through on `from`, and of those that went over to `to`.
void check_goes_on(const ContextOptions& from,
                   const ContextOptions& to,
                   double tolerance,
                   const test::ShortRun::Prepare& prepare) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "state.safetensors";
  const std::int64_t stop = training().steps + 1;
  const std::vector<Tensor> saved = train_and_save(from, prepare, stop, path);

  test::ShortRun second(to, training(), prepare);
  load_state(path, [&](StateVisitor& v) { second.learn.visit_state(v); });
  second.learn.resume();
  const std::vector<Tensor> loaded = second.values();
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const Comparison same = same_bits(loaded[i], saved[i]);
    CHECK_MESSAGE(same.equal, same.text);
  }
  second.fit(kEpochs);

  test::ShortRun straight(from, training(), prepare);
  straight.fit(kEpochs);
  const std::vector<double> expected = straight.losses();
  const std::vector<double> got = second.losses();
  REQUIRE(expected.size() == static_cast<std::size_t>(kEpochs * training().steps));
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got[i] - expected[i]) <= tolerance * expected[i]);
  }
  const StepControl a = second.learn.optimizer().read_control();
  const StepControl b = straight.learn.optimizer().read_control();
  CHECK(a.step == b.step);
  CHECK(a.skipped == b.skipped);
  CHECK(a.loss_scale == b.loss_scale);
  CHECK(second.learn.progress().batch_clock == straight.learn.progress().batch_clock);
}

const ContextOptions kCpu{};
const ContextOptions kCuda{.device = Device::cuda()};

void fp32(Learner&) {}
/// A scale that no gradient here overflows at, so that rounding cannot decide about a skip.
void fp16(Learner& learn) { callbacks::to_fp16(learn, {.loss_scale = 64.0F}); }

}  // namespace

// In f16 the roundings of single values differ between the devices: half a thousandth each.
TEST_CASE("a training saved on the CPU continues on CUDA, in f32 and in f16") {
  check_goes_on(kCpu, kCuda, 1e-3, fp32);
  check_goes_on(kCpu, kCuda, 0.01, fp16);
}

TEST_CASE("a training saved on CUDA continues on the CPU, in f32 and in f16") {
  check_goes_on(kCuda, kCpu, 1e-3, fp32);
  check_goes_on(kCuda, kCpu, 0.01, fp16);
}

TEST_CASE("a training saved on CUDA continues on CUDA with the same bits") {
  check_goes_on(kCuda, kCuda, 0, fp32);
  check_goes_on(kCuda, kCuda, 0, fp16);
}
