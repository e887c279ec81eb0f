#include "callbacks/ema.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "data/loading/augmentation.h"
#include "data/loading/loader.h"
#include "data/sets/registry.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"
#include "framework/optim/adam.h"
#include "models/registry.h"
#include "tests/support/gradcheck.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

using namespace learn;

namespace {

/// Results of a few steps of a small net.
struct Trained {
  std::vector<double> losses;
  StepControl control;
  double valid_loss = 0;
  double accuracy = 0;
};

using Prepare = std::function<void(Learner&)>;

Trained train(const ContextOptions& device, const Prepare& prepare) {
  Context ctx(device);
  const data::DataPair images = data::load("synthetic10", {.train_limit = 26, .valid_limit = 9});
  const data::Normalization stats = data::measure(images.train);
  data::Loader batches(ctx,
                       images.train,
                       {.batch_size = 4,  // the last one has two
                        .shuffle = true,
                        .normalization = stats,
                        .transforms = data::augmentation("full", 32, 32)});
  data::Loader valid(ctx, images.valid, {.batch_size = 9, .normalization = stats});
  Learner learn(ctx,
                models::make_model("small:width=4"),
                {batches, valid},
                {.optimizer = optim::adamw({.weight_decay = 0.01F}),
                 .metrics = {metrics::accuracy()},
                 .report = Report::record});
  auto& recorder = *learn.find<Recorder>();
  learn.add<callbacks::GradientClip>(1.0F);
  prepare(learn);
  learn.fit_one_cycle(1, 0.01);
  Trained result{.control = learn.optimizer().read_control(),
                 .valid_loss = learn.results().valid_loss,
                 .accuracy = learn.results().metrics.at(0).second};
  for (const BatchRecord& batch : recorder.batches(learn)) result.losses.push_back(batch.loss);
  return result;
}

/// Trains on both; losses may differ by `tolerance`, relative.
Trained check_devices_agree(double tolerance, const Prepare& prepare) {
  const Trained cpu = train({.threads = 1}, prepare);
  Trained cuda = train({.device = Device::cuda()}, prepare);
  REQUIRE(cpu.losses.size() == 7);
  REQUIRE(cuda.losses.size() == 7);
  for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
    CAPTURE(i);
    CAPTURE(cpu.losses[i]);
    CAPTURE(cuda.losses[i]);
    CHECK(std::abs(cuda.losses[i] - cpu.losses[i]) <= tolerance * cpu.losses[i]);
  }
  CHECK(std::abs(cuda.valid_loss - cpu.valid_loss) <= tolerance * cpu.valid_loss);
  CHECK(cuda.control.step == cpu.control.step);
  CHECK(cuda.control.skipped == cpu.control.skipped);
  CHECK(cuda.control.loss_scale == cpu.control.loss_scale);
  return cuda;
}

}  // namespace

// Seven steps of AdamW let differences of rounding grow: its first steps move every weight by the
// whole learning rate, whatever the size of the gradient, so one of 1e-8 of either sign differs by
// twice that.
TEST_CASE("a short training gives the same losses on the CPU and on CUDA, in f32") {
  const Trained cuda = check_devices_agree(0.01, [](Learner&) {});
  CHECK(cuda.control.step == 7);
}

// Gradients of this net overflow at scales of 2^17 and up, and nearly so at 2^16: the scale falls
// in strides that miss those, so that rounding cannot decide.
TEST_CASE(
    "a short training gives the same losses in f16, with two steps skipped while the loss scale is "
    "adjusted") {
  const Trained cuda = check_devices_agree(0.05, [](Learner& learn) {
    callbacks::to_fp16(
        learn,
        {.loss_scale = 16777216.0F, .scaling = {.growth_factor = 64, .backoff_factor = 1.0F / 64}});
  });
  CHECK(cuda.control.skipped == 2);
  CHECK(cuda.control.step == 5);
}

TEST_CASE("a short training gives the same losses under autocast to f16, with two steps skipped") {
  const Trained cuda = check_devices_agree(0.05, [](Learner& learn) {
    callbacks::to_native_fp16(
        learn,
        {.loss_scale = 16777216.0F, .scaling = {.growth_factor = 64, .backoff_factor = 1.0F / 64}});
  });
  CHECK(cuda.control.skipped == 2);
  CHECK(cuda.control.step == 5);
}

TEST_CASE("a short training gives the same losses in bf16, validating an average of the weights") {
  const Trained cuda = check_devices_agree(0.1, [](Learner& learn) {
    callbacks::to_bf16(learn);
    learn.add<callbacks::Ema>(EmaOptions{.decay = 0.9});
  });
  CHECK(cuda.control.step == 7);
}
