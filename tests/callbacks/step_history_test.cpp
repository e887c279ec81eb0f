// A recorder's data of each step, and their output in messages, files and drawings.
#include "callbacks/diagnose/inject.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/report/csv_logger.h"
#include "callbacks/report/plot_results.h"
#include "callbacks/report/skip_report.h"
#include "callbacks/report/step_norms.h"
#include "framework/io/csv.h"
#include "framework/learner/history/recorder.h"
#include "framework/optim/sgd.h"
#include "tests/callbacks/layered_net.h"
#include "tests/support/log_file.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <sstream>

using namespace tiny;
using namespace learn::callbacks;

namespace {

std::vector<std::int64_t> batches(std::size_t count) { return std::vector<std::int64_t>(count, 4); }

LearnerOptions plain_sgd() {
  LearnerOptions options;
  options.optimizer = optim::sgd({.momentum = 0});
  return options;
}

double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("each batch has its loss scale and whether its step was made") {
  LayeredTraining t(batches(6));
  to_fp16(t.learn, {.loss_scale = 64.0F, .scaling = {.growth_interval = 2}});
  t.learn.add<FaultInjection>(parse_faults("overflow@1,overflow@4"));
  auto& recorder = t.learn.add<Recorder>();
  t.learn.fit(1, 0.01);
  std::vector<float> scales;
  std::vector<std::int64_t> skipped;
  for (const BatchRecord& batch : recorder.batches(t.learn)) {
    scales.push_back(batch.loss_scale);
    skipped.push_back(batch.skipped);
    CHECK(std::isnan(batch.grad_norm));
    CHECK(std::isnan(batch.update_ratio));
  }
  CHECK(scales == std::vector<float>{32, 32, 64, 32, 32, 64});
  CHECK(skipped == std::vector<std::int64_t>{1, 0, 0, 1, 0, 0});
  std::string events;
  for (const StepRecord& step : recorder.steps(t.learn).records())
    events += fmt::format(
        "{} {} {}->{}; ", step.batch, name_of(step.event), step.scale_before, step.scale_after);
  CHECK(events == "1 warm-up 64->32; 3 growth 32->64; 4 growth probe 64->32; 6 growth 32->64; ");
  CHECK(recorder.epochs().back().skipped == 2);
  CHECK(recorder.epochs().back().loss_scale == 64);
}

TEST_CASE("a run that continues from saved state keeps its skips and their reasons") {
  const auto prepared = [](LayeredTraining& t) -> Recorder& {
    to_fp16(t.learn, {.loss_scale = 64.0F, .scaling = {.growth_interval = 2}});
    t.learn.add<FaultInjection>(parse_faults("overflow@1,overflow@4,overflow@5"));
    return t.learn.add<Recorder>();
  };
  const auto events = [](LayeredTraining& t, Recorder& recorder) {
    std::string text;
    for (const StepRecord& step : recorder.steps(t.learn).records())
      text += fmt::format("{} {}; ", step.batch, name_of(step.event));
    return text;
  };
  LayeredTraining straight(batches(3));
  Recorder& whole = prepared(straight);
  straight.learn.fit(1, 0.01);
  const test::MemoryState state = test::save(straight.ctx, straight.learn);
  straight.learn.fit(1, 0.01);
  CHECK(events(straight, whole) == "1 warm-up; 3 growth; 4 growth probe; 5 overflow; ");

  LayeredTraining resumed(batches(3));
  Recorder& rest = prepared(resumed);
  test::load(resumed.ctx, state, resumed.learn);
  CHECK(events(resumed, rest) == "1 warm-up; 3 growth; ");
  resumed.learn.fit(1, 0.01);
  CHECK(events(resumed, rest) == events(straight, whole));
  CHECK(rest.steps(resumed.learn).counts() == whole.steps(straight.learn).counts());
}

TEST_CASE("a fit ends with a line about its skipped steps, and only if there were any") {
  const auto said = [](const std::string& faults, std::int64_t epochs) {
    const test::LogFile log;
    LayeredTraining t(batches(120));
    to_fp16(t.learn, {.loss_scale = 1024.0F});
    t.learn.add<FaultInjection>(parse_faults(faults));
    t.learn.add<Recorder>();
    const auto& report = t.learn.add<SkipReport>();
    t.learn.fit(epochs, 0.01);
    CHECK(report.verdict().text.empty() == (faults == "slow@1:0s"));
    std::string lines;
    std::istringstream in(log.text());
    for (std::string line; std::getline(in, line);)
      if (line.find("[skip_report]") != std::string::npos) lines += line + "\n";
    return lines;
  };
  const auto has = [](const std::string& lines, const char* text) {
    return lines.find(text) != std::string::npos;
  };
  CHECK(said("slow@1:0s", 2).empty());
  const std::string normal = said("overflow@1-2", 2);
  CHECK(has(normal,
            "2 of 240 steps skipped (0.83 %: 2 while the loss scale was adjusted), loss scale 1024 "
            "-> 256: normal\n"));
  CHECK_FALSE(has(normal, "epoch"));
  const std::string not_normal = said("overflow@5-7", 2);
  CHECK(has(not_normal, "epoch 1: 3 of 120 steps skipped"));
  CHECK_FALSE(has(not_normal, "epoch 2"));
  CHECK(has(not_normal, "3 of 240 steps skipped"));
  CHECK(has(not_normal, "not normal, several steps in a row were skipped"));
  CHECK(has(not_normal, "--callbacks blame names the layer"));
  CHECK_FALSE(has(said("overflow@5-7", 1), "epoch 1:"));  // the line about the fit says it
}

TEST_CASE("the norm of the gradients is f32's for every loss scale, before clipping") {
  const auto norms = [](float scale, bool clips, bool measures) {
    LayeredTraining t(batches(3), plain_sgd());
    if (scale > 0) to_fp16(t.learn, {.loss_scale = scale, .scaling = {.dynamic = false}});
    if (clips) t.learn.add<GradientClip>(0.01F);
    auto& recorder = t.learn.add<Recorder>();
    if (measures) t.learn.add<StepNorms>();
    t.learn.fit(1, 0);
    std::vector<double> found;
    for (const BatchRecord& batch : recorder.batches(t.learn)) found.push_back(batch.grad_norm);
    return found;
  };
  const std::vector<double> f32 = norms(0, false, true);
  CHECK(f32.size() == 3);
  CHECK(norms(0, true, true) == f32);
  CHECK(norms(0, true, false) == f32);  // the clip has it anyway
  for (const float scale : {1.0F, 0x1p8F, 0x1p12F}) {
    CAPTURE(scale);
    const std::vector<double> half = norms(scale, true, true);
    for (std::size_t i = 0; i < f32.size(); ++i)  // in 11 bits
      CHECK(half[i] / f32[i] == doctest::Approx(1).epsilon(0x1p-10));
  }
  CHECK(std::isnan(norms(0, false, false).at(0)));
}

TEST_CASE("the size of an update is how far it moves the weights") {
  LayeredTraining t(batches(4), plain_sgd());
  to_fp16(t.learn, {.loss_scale = 64.0F});
  t.learn.add<FaultInjection>(parse_faults("overflow@2"));
  t.learn.add<GradientClip>(0.5F);
  t.learn.add<StepNorms>();
  auto& recorder = t.learn.add<Recorder>();
  std::vector<double> ratios;
  std::vector<double> before;
  on(t.learn, Event::step_begin, [&](Learner& l) { before = values(l.params().flat_master()); });
  on(t.learn, Event::step_end, [&](Learner& l) {
    std::vector<double> change = values(l.params().flat_master());
    for (std::size_t i = 0; i < change.size(); ++i) change[i] -= before[i];
    ratios.push_back(norm_of(change) / norm_of(before));
  });
  t.learn.fit(1, 0.1);
  const auto& records = recorder.batches(t.learn);
  REQUIRE(records.size() == 4);
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    if (i == 1) continue;
    CHECK(records[i].update_ratio / ratios[i] == doctest::Approx(1).epsilon(1e-6));  // f32 sums
    CHECK(std::isfinite(records[i].grad_norm));
    sum += ratios[i];
  }
  CHECK(ratios[1] == 0);
  CHECK(std::isnan(records[1].update_ratio));  // there was no step
  CHECK(std::isnan(records[1].grad_norm));
  const auto& metrics = t.learn.results().metrics;
  REQUIRE(metrics.size() == 2);
  CHECK(metrics[0].first == "grad_norm");
  CHECK(metrics[1].first == "update_ratio");
  CHECK(metrics[1].second / (sum / 3) == doctest::Approx(1).epsilon(1e-6));
}

TEST_CASE("measuring changes no bit of a training") {
  const auto trained = [](bool measures, bool accumulates) {
    LayeredTraining t(batches(6));
    to_fp16(t.learn, {.loss_scale = 64.0F});
    t.learn.add<FaultInjection>(parse_faults("overflow@3"));
    if (accumulates) t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
    t.learn.add<Recorder>();
    if (measures) t.learn.add<StepNorms>();
    if (measures) t.learn.add<SkipReport>();
    t.learn.fit(2, 0.05);
    return values(t.learn.params().flat_master());
  };
  CHECK(trained(true, false) == trained(false, false));
  CHECK(trained(true, true) == trained(false, true));
}

TEST_CASE("after a resume, the means of an interrupted epoch equal those of the whole epoch") {
  const auto prepared = [](LayeredTraining& t) -> Recorder& {
    t.learn.add<StepNorms>();
    return t.learn.add<Recorder>();
  };
  LayeredTraining whole(batches(6));
  Recorder& all = prepared(whole);
  whole.learn.fit(1, 0.05);
  LayeredTraining cut(batches(6));
  prepared(cut);
  std::optional<test::MemoryState> state;
  on(
      cut.learn,
      Event::batch_end,
      [&](Learner& l) {
        if (l.progress().batch_in_pass == 3) state = test::save(l.context(), l);
      },
      "save",
      order::kTracker + 30);
  cut.learn.fit(1, 0.05);
  LayeredTraining resumed(batches(6));
  Recorder& rest = prepared(resumed);
  test::load(resumed.ctx, state.value(), resumed.learn);
  resumed.learn.resume();
  resumed.learn.fit(1, 0.05);
  CHECK(rest.mean_grad_norm(resumed.learn) == all.mean_grad_norm(whole.learn));
  CHECK(rest.mean_update_ratio(resumed.learn) == all.mean_update_ratio(whole.learn));
}

TEST_CASE("a fit that ends because all its steps were skipped reports the reasons") {
  LayeredTraining t(batches(6));
  to_fp16(t.learn, {.loss_scale = 64.0F, .scaling = {.dynamic = false}, .max_skips = 3});
  t.learn.add<FaultInjection>(parse_faults("overflow@2-6"));
  t.learn.add<Recorder>();
  auto& report = t.learn.add<SkipReport>();
  CHECK_THROWS_AS(t.learn.fit(1, 0.05), DivergedError);
  CHECK_FALSE(report.verdict().normal);
  CHECK(report.verdict().text.find("3 of 4 steps skipped") == 0);
}

TEST_CASE("batches whose gradients are held do not have a norm") {
  LayeredTraining t(batches(4));
  t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
  t.learn.add<StepNorms>();
  auto& recorder = t.learn.add<Recorder>();
  t.learn.fit(1, 0.01);
  std::string known;
  for (const BatchRecord& batch : recorder.batches(t.learn))
    known += std::isfinite(batch.update_ratio) ? 'y' : 'n';
  CHECK(known == "nyny");
}

TEST_CASE(
    "updates after the scale has collapsed equal those of a scale that was right from the start") {
  const auto last_ratio = [](float scale, const std::string& faults) {
    LayeredTraining t(batches(30), plain_sgd());
    to_fp16(t.learn, {.loss_scale = scale});
    t.learn.add<FaultInjection>(parse_faults(faults));
    t.learn.add<StepNorms>();
    auto& recorder = t.learn.add<Recorder>();
    t.learn.fit(1, 1e-4);
    CHECK(t.learn.optimizer().read_control().loss_scale == 64);
    return recorder.batches(t.learn).back().update_ratio;
  };
  // One of them lacks 6 of 30 small steps.
  CHECK(last_ratio(4096, "overflow@5-10") / last_ratio(64, "slow@1:0s") ==
        doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("skips and norms are in the table of epochs and in the plots") {
  const TemporaryFolder folder;
  const auto drawn = [&](const std::string& faults, bool measures) {
    LayeredTraining t(batches(4));
    to_fp16(t.learn, {.loss_scale = 64.0F, .scaling = {.dynamic = false}});
    t.learn.add<FaultInjection>(parse_faults(faults));
    t.learn.add<Recorder>();
    if (measures) t.learn.add<StepNorms>();
    t.learn.add<CsvLogger>(folder / "results.csv");
    t.learn.add<PlotResults>(folder.path(), "steps");
    t.learn.fit(2, 0.01);
    return std::filesystem::file_size(folder / "lr_schedule.png");
  };
  const auto none = drawn("slow@1:0s", false);
  const auto skipped = drawn("overflow@2,overflow@7-8", false);
  CHECK(skipped > none + 1000);  // a panel more, though a static scale does not move
  const CsvTable table = read_csv(folder / "results.csv");
  const auto cell = [&](std::size_t row, const char* name) {
    return table.rows.at(row).at(table.column(name).value());
  };
  CHECK(cell(0, "skipped") == "1");
  CHECK(cell(1, "skipped") == "2");
  CHECK(cell(1, "loss_scale") == "64");
  CHECK(drawn("overflow@2,overflow@7-8", true) > skipped + 2000);  // two more
  CHECK(read_csv(folder / "results.csv").column("grad_norm").has_value());
}
