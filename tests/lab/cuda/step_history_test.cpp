// Compares the records of each step on a device, where the host gets them later, with the CPU's.
#include "callbacks/cuda_graph.h"
#include "callbacks/diagnose/blame.h"
#include "callbacks/diagnose/inject.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/report/skip_report.h"
#include "callbacks/report/step_norms.h"
#include "framework/autograd/ops.h"
#include "tests/lab/cuda/short_training.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace learn;

namespace {

const test::ShortTraining kTraining{.model = "small:width=4", .batch = 4, .steps = 7};

/// For each batch: the loss scale after it, whether its step was applied, and the sizes of the
/// step.
struct Steps {
  std::vector<float> scales;
  std::vector<std::int64_t> skipped;
  std::string events;
  std::vector<double> sizes;
};

Steps steps_of(const ContextOptions& device, std::int64_t epochs) {
  test::ShortRun run(device, kTraining, [](Learner& learn) {
    callbacks::to_fp16(learn, {.loss_scale = 64.0F, .scaling = {.growth_interval = 2}});
    learn.add<callbacks::FaultInjection>(
        callbacks::parse_faults("overflow@1,nan@4:layer2.conv,overflow_act@8:layer3.bn,spike@9:3"));
    learn.add<callbacks::StepNorms>();
  });
  run.fit(epochs);
  Steps found;
  auto& recorder = *run.learn.find<Recorder>();
  for (const BatchRecord& batch : recorder.batches(run.learn)) {
    found.scales.push_back(batch.loss_scale);
    found.skipped.push_back(batch.skipped);
    for (const double size : {batch.grad_norm, batch.update_ratio})
      found.sizes.push_back(std::isnan(size) ? -1 : size);
  }
  for (const StepRecord& step : recorder.steps(run.learn).records())
    found.events += fmt::format("{} {}; ", step.batch, name_of(step.event));
  return found;
}

}  // namespace

TEST_CASE("faults, skips, scales and sizes of steps equal those of the CPU, batch by batch") {
  const Steps cpu = steps_of({.threads = 1}, 2);
  const Steps cuda = steps_of({.device = Device::cuda()}, 2);
  CHECK(cuda.scales == cpu.scales);
  CHECK(cuda.skipped == cpu.skipped);
  CHECK(cuda.events == cpu.events);
  CHECK(cuda.events.find("1 warm-up; 3 growth; 4 growth probe; ") == 0);
  CHECK(cuda.events.find("8 infinite loss; ") != std::string::npos);
  REQUIRE(cuda.sizes.size() == cpu.sizes.size());
  for (std::size_t i = 0; i < cpu.sizes.size(); ++i) {
    CAPTURE(i);
    CHECK((cuda.sizes[i] < 0) == (cpu.sizes[i] < 0));
    // Sums of halves in another order. The weights drift apart: an H200 was 5.4 % off at the end of
    // the first epoch, and in the second one nothing can be compared.
    const double allowed = i < cpu.sizes.size() / 4 ? 0.05 : 0.2;
    if (i < cpu.sizes.size() / 2)
      CHECK(std::abs(cuda.sizes[i] - cpu.sizes[i]) <= allowed * std::abs(cpu.sizes[i]));
  }
}

TEST_CASE("a captured step is measured and explained, and has the bits of one that is not") {
  const auto train = [](bool watched, bool graph, const auto& look) {
    test::ShortRun run({.device = Device::cuda()}, kTraining, [&](Learner& learn) {
      // Far beyond what the gradients allow: all of the first epoch is skipped. Then it grows at
      // each clean step, and is too large again.
      callbacks::to_fp16(learn, {.loss_scale = 0x1p24F, .scaling = {.growth_interval = 1}});
      if (watched) learn.add<callbacks::StepNorms>();
      if (watched) learn.add<callbacks::SkipReport>();
      if (watched) learn.add<callbacks::Blame>(2);
      if (graph) learn.add<callbacks::CudaGraph>();
    });
    run.fit(4);
    look(run);
    return run.values();
  };
  std::vector<double> eager_norms;
  std::vector<double> graph_norms;
  const auto norms_of = [](test::ShortRun& run) {
    std::vector<double> norms;
    for (const BatchRecord& b : run.learn.find<Recorder>()->batches(run.learn))
      norms.push_back(std::isnan(b.grad_norm) ? -1 : b.grad_norm);
    return norms;
  };
  const auto explained = [](test::ShortRun& run) {
    const auto& reports = run.learn.find<callbacks::Blame>()->reports();
    REQUIRE(!reports.empty());
    // It hears of the first epoch's skips when their batches are gone.
    CHECK(reports.front().step.batch > 7);
    for (const callbacks::BlameReport& report : reports) {
      CHECK(report.replay.first_output.empty());
      CHECK(!report.replay.first_gradient.empty());
      CHECK(!report.replay.parameters.empty());
      CHECK(report.replay.loss == report.loss);
      CHECK(report.replay.parameters.size() == report.parameters.size());
    }
  };
  const auto plain = train(false, true, [](test::ShortRun&) {});
  const auto eager = train(true, false, [&](test::ShortRun& run) {
    eager_norms = norms_of(run);
    explained(run);
  });
  const auto graph = train(true, true, [&](test::ShortRun& run) {
    graph_norms = norms_of(run);
    explained(run);
    CHECK(run.learn.find<callbacks::CudaGraph>()->counts().replayed > 8);
  });
  CHECK(graph_norms == eager_norms);
  CHECK(std::ranges::count(graph_norms, -1) > 8);
  CHECK(std::ranges::count_if(graph_norms, [](double n) { return n > 0; }) > 7);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(same_bits(plain[i], eager[i]).equal);
    CHECK(same_bits(plain[i], graph[i]).equal);
  }
}

TEST_CASE("batches are joined by the weights of their losses, of replayed steps too") {
  const auto train_loss = [](const ContextOptions& device, bool graph, bool weighted, int epochs) {
    test::ShortTraining training = kTraining;
    if (weighted)
      training.loss.weight = [](Tape& tape, const Tensor& y) {
        const auto square = [](auto x) { return x * x; };
        return ops::sum(ops::map(square(square(square(expr::arg(0)))), {tape.input(y)}));
      };
    test::ShortRun run(device, training, [&](Learner& learn) {
      if (graph) learn.add<callbacks::CudaGraph>();
    });
    run.fit(epochs);
    if (graph) CHECK(run.learn.find<callbacks::CudaGraph>()->counts().replayed > 7 * (epochs - 2));
    return run.learn.results().train_loss;
  };
  const ContextOptions device{.device = Device::cuda()};
  CHECK(train_loss(device, true, true, 3) == train_loss(device, false, true, 3));
  // In the first epoch, of seven batches: by the third one rounding has driven the weights apart,
  // and the losses by 0.6 % on an H200.
  const double first = train_loss(device, false, true, 1);
  CHECK(std::abs(first / train_loss({.threads = 1}, false, true, 1) - 1) < 1e-4);
  CHECK(std::abs(first / train_loss(device, false, false, 1) - 1) > 1e-3);
}

TEST_CASE("skips in a row end a training on a device, where the host reads them later") {
  const auto batches_until_it_ends = [](const ContextOptions& device) {
    const test::ShortTraining training{.model = "mlp:width=2", .batch = 2, .steps = 130};
    test::ShortRun run(device, training, [](Learner& learn) {
      // Too large for the gradients' half.
      callbacks::to_fp16(learn, {.loss_scale = 0x1p100F, .scaling = {.dynamic = false}});
      learn.add<callbacks::CudaGraph>();
    });
    CHECK_THROWS_AS(run.fit(1), DivergedError);
    return run.learn.progress().batch_clock;
  };
  CHECK(batches_until_it_ends({.threads = 1}) == callbacks::kMaxSkips);
  CHECK(batches_until_it_ends({.device = Device::cuda()}) ==
        callbacks::PrecisionCallback::kBatchesBetweenLooks);
}

TEST_CASE("skips in a row at the end of an epoch end a training on a device") {
  test::ShortRun run({.device = Device::cuda()}, kTraining, [](Learner& learn) {
    callbacks::to_fp16(learn, {.loss_scale = 64.0F, .scaling = {.dynamic = false}, .max_skips = 4});
    learn.add<callbacks::FaultInjection>(
        callbacks::parse_faults("overflow@4,overflow@5,overflow@6,overflow@7"));
  });
  CHECK_THROWS_WITH_AS(run.fit(2),
                       doctest::Contains("the last 4 steps in a row, up to batch 7, had gradients"),
                       DivergedError);
}
