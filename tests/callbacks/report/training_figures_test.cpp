#include "callbacks/report/training_figures.h"

#include "callbacks/checkpointer.h"
#include "framework/core/error.h"
#include "framework/drawing/drawing.h"
#include "framework/learner/history/recorder.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <limits>

using namespace learn;
using namespace learn::callbacks;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

RunHistory a_run(const std::string& name) {
  RunHistory run{.name = name, .batches = {}, .epochs = {}};
  for (int i = 1; i <= 4; ++i)
    run.batches.push_back({.batch = i,
                           .epoch = i / 2.0,
                           .loss = 4.0 - i,
                           .lowest_loss = 4.0 - i,
                           .highest_loss = 4.0 - i,
                           .smooth_loss = 4.5 - i,
                           .lr = 0.1F,
                           .momentum = 0.9F});
  for (int e = 1; e <= 2; ++e)
    run.epochs.push_back({.epoch = e, .valid_loss = 1.5 / e, .metrics = {{"accuracy", e / 4.0}}});
  return run;
}

std::vector<std::string> names(const plot::Panel& panel) {
  std::vector<std::string> all;
  for (const plot::Series& series : panel.series) all.push_back(series.name);
  return all;
}

std::vector<std::string> titles(const plot::Figure& figure) {
  std::vector<std::string> all;
  for (const plot::Panel& panel : figure.panels) all.push_back(panel.title);
  return all;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("raw and smoothed losses of a run have one colour, and the validation another") {
  const std::array runs{a_run("ten")};
  const plot::Figure figure = results_figure("ten", runs);
  CHECK(titles(figure) == Names{"Loss", "Metrics"});
  const plot::Panel& loss = figure.panels[0];
  CHECK(names(loss) == Names{"training, each batch", "training, smoothed", "validation"});
  CHECK(loss.series[0].faint);
  CHECK(loss.series[0].color == loss.series[1].color);
  CHECK(loss.series[2].color != loss.series[1].color);
  CHECK(loss.series[0].y == std::vector<double>{3, 2, 1, 0});
  // A straight line stays one, to its ends.
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(loss.series[1].y.at(i) == doctest::Approx(3 - static_cast<double>(i)));
  CHECK(loss.series[2].y == std::vector<double>{1.5, 0.75});
  CHECK(loss.y_label == "loss (mean of the images)");
  CHECK(names(figure.panels[1]) == Names{"accuracy"});
}

TEST_CASE("a record of several batches is a line from the lowest to the highest loss") {
  std::array runs{a_run("ten")};
  runs[0].batches[1].merged = 2;
  runs[0].batches[1].highest_loss = 9;
  const plot::Figure figure = results_figure("", runs);
  CHECK(figure.panels[0].series[0].y == std::vector<double>{3, 2, 9, 1, 0});
  CHECK(figure.panels[0].series[0].x == std::vector<double>{0.5, 1, 1, 1.5, 2});
}

TEST_CASE("smoothed losses do not come late, and leave out what is not finite") {
  RunHistory run{.name = "step", .batches = {}, .epochs = {}};
  for (int i = 1; i <= 400; ++i)
    run.batches.push_back(
        {.batch = i, .epoch = i / 400.0, .loss = i <= 200 ? 2.0 : 1.0, .smooth_loss = 5});
  run.batches[50].loss = kNaN;
  run.batches[60].loss = std::numeric_limits<double>::infinity();
  const std::array runs{run};
  const std::vector<double> mean = results_figure("", runs).panels[0].series[1].y;
  REQUIRE(mean.size() == 400);
  CHECK(mean[0] == doctest::Approx(2).epsilon(0.001));
  CHECK(mean[50] == doctest::Approx(2).epsilon(0.005));
  CHECK(mean[399] == doctest::Approx(1).epsilon(0.001));
  // Equally far above on one side of the step and below on the other.
  CHECK(mean[199] + mean[200] == doctest::Approx(3).epsilon(0.001));  // two are left out
  CHECK(mean[250] < 1.1);
  // Records of two batches each are the same mean.
  std::array merged{run};
  merged[0].batches.clear();
  for (std::int64_t i = 1; i <= 200; ++i)
    merged[0].batches.push_back({.batch = 2 * i,
                                 .merged = 2,
                                 .epoch = static_cast<double>(i) / 200,
                                 .loss = i <= 100 ? 2.0 : 1.0});
  const std::vector<double> coarse = results_figure("", merged).panels[0].series[1].y;
  CHECK(coarse[120] == doctest::Approx(mean[240]).epsilon(0.02));
  std::array nothing{run};
  for (BatchRecord& batch : nothing[0].batches) batch.loss = kNaN;
  CHECK(std::isnan(results_figure("", nothing).panels[0].series[1].y[7]));
}

TEST_CASE("a metric that is not a share has a separate panel") {
  std::array runs{a_run("ten")};
  for (EpochRecord& epoch : runs[0].epochs)
    epoch.metrics.insert(epoch.metrics.begin(), {"norm", 3});
  const plot::Figure figure = results_figure("ten", runs);
  CHECK(titles(figure) == Names{"Loss", "Metrics", "norm"});
  CHECK(names(figure.panels[1]) == Names{"accuracy"});
  CHECK(names(figure.panels[2]) == Names{"norm"});
}

TEST_CASE("several runs are in one plot, each in its colour, with a panel for each metric") {
  std::array runs{a_run("runs/a"), a_run("runs/b")};
  runs[1].epochs[0].metrics.clear();
  runs[1].epochs[1].metrics.emplace_back("top_5", 0.9);
  const plot::Figure figure = results_figure("both", runs);
  CHECK(titles(figure) == Names{"Loss", "accuracy", "top_5"});
  const plot::Panel& loss = figure.panels[0];
  CHECK(names(loss) ==
        Names{"runs/a: training", "runs/a: validation", "runs/b: training", "runs/b: validation"});
  CHECK(loss.series[0].color == 0);
  CHECK(loss.series[1].color == 0);
  CHECK(loss.series[1].dashed);
  CHECK_FALSE(loss.series[0].dashed);
  CHECK(loss.series[3].color == 1);
  CHECK(names(figure.panels[1]) == Names{"runs/a", "runs/b"});
  CHECK(figure.panels[1].series[1].color == 1);
  // Values that an epoch or a run did not measure are gaps.
  CHECK(std::isnan(figure.panels[1].series[1].y[0]));
  CHECK(figure.panels[1].series[1].y[1] == 0.5);
  CHECK(std::isnan(figure.panels[2].series[0].y[1]));
}

TEST_CASE("without validation there is no line, and without metrics no panel") {
  std::array runs{a_run("ten")};
  for (EpochRecord& epoch : runs[0].epochs) {
    epoch.valid_loss = kNaN;
    epoch.metrics.clear();
  }
  const plot::Figure figure = results_figure("", runs);
  CHECK(titles(figure) == Names{"Loss"});
  CHECK(names(figure.panels[0]) == Names{"training, each batch", "training, smoothed"});
  runs[0].epochs.clear();
  runs[0].batches.clear();
  CHECK(plot::draw(results_figure("", runs)).width() > 0);
}

TEST_CASE(
    "a figure of a schedule shows the values that changed: loss scale with skips, and norms if "
    "any") {
  std::array runs{a_run("a"), a_run("b")};
  CHECK(titles(schedule_figure("", runs)) == Names{"Learning rate", "Momentum"});
  CHECK(names(schedule_figure("", runs).panels[0]) == Names{"a", "b"});
  CHECK(names(schedule_figure("", std::span(runs).first(1)).panels[0]) == Names{"learning rate"});
  runs[1].batches[2].grad_norm = 2;
  runs[1].batches[2].update_ratio = 0.01;
  runs[1].batches[2].skipped = 1;
  const plot::Figure figure = schedule_figure("", runs);
  CHECK(titles(figure) ==
        Names{"Learning rate", "Momentum", "Loss scale", "Gradient norm", "Step size"});
  CHECK(names(figure.panels[2]) == Names{"a", "b", "b: skipped step"});
  CHECK(figure.panels[2].series[2].x.at(0) == 1.5);
  CHECK(names(figure.panels[3]) == Names{"b"});  // the other has no norms
  CHECK(figure.panels[2].log_y);
}

TEST_CASE("the history of a run is what its recorder kept, read from its state") {
  const TemporaryFolder folder;
  tiny::Training t({2, 2});
  auto& recorder = t.learn.add<Recorder>();
  t.learn.add<Checkpointer>(
      CheckpointerOptions{.folder = folder / "run" / "weights", .monitor = "valid_loss"});
  t.learn.fit(3);
  const RunHistory run = read_run_history(folder / "run" / "");
  CHECK(run.name == (folder / "run").string());
  REQUIRE(run.batches.size() == 6);
  CHECK(run.batches[5].loss == recorder.batches(t.learn)[5].loss);
  CHECK(run.batches[5].epoch == 3);
  REQUIRE(run.epochs.size() == 3);
  CHECK(run.epochs[2].valid_loss == recorder.epochs()[2].valid_loss);
  CHECK_THROWS_WITH_AS((void)read_run_history(folder / "none"),
                       doctest::Contains("is not the folder of a run"),
                       CheckpointError);
  std::filesystem::create_directories(folder / "empty" / "weights");
  CHECK_THROWS_AS((void)read_run_history(folder / "empty"), CheckpointError);
}
