#include "callbacks/checkpointer.h"
#include "callbacks/early_stopping.h"
#include "callbacks/interrupt.h"
#include "callbacks/lambda.h"
#include "callbacks/report/csv_logger.h"
#include "callbacks/report/plot_results.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checkpoint.h"
#include "framework/learner/history/progress.h"
#include "framework/learner/history/recorder.h"
#include "framework/tensor/factory.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

using namespace tiny;
using namespace learn::callbacks;

namespace {

Metric half() {
  return {"half", [](Context&, const Tensor& pred, const Tensor&) {
            return 0.5 * static_cast<double>(pred.shape()[0]);
          }};
}

LearnerOptions with_metric() {
  LearnerOptions options;
  options.metrics = {half()};
  return options;
}

/// Output of a Progress without a terminal for a whole fit.
std::string progress_output(Training& training, ProgressOptions options) {
  const TemporaryFolder folder;
  std::FILE* const file = std::fopen((folder / "out").c_str(), "w");
  REQUIRE(file != nullptr);
  options.table = file;
  options.bar = file;
  training.learn.add<Recorder>();
  training.learn.add<Progress>(options);
  training.learn.fit(2, 0.1);
  std::fclose(file);
  return read_text_file(folder / "out");
}

/// The last time left that a log tells, "1:40", in seconds.
int last_eta(const std::string& log) {
  const std::size_t at = log.rfind("eta ");
  REQUIRE(at != std::string::npos);
  const std::string text = log.substr(at + 4);
  return 60 * std::atoi(text.c_str()) + std::atoi(text.c_str() + text.find(':') + 1);
}

}  // namespace

TEST_CASE("the time left counts no cold batch, and the validation of all epochs") {
  Training t({2}, std::vector<std::int64_t>(9, 2));
  int batches = 0;
  on(t.learn, Event::batch_begin, [&](Learner& l) {
    const bool cold = l.progress().training && batches++ < 2;
    std::this_thread::sleep_for(std::chrono::milliseconds(cold ? 300 : 10));
  });
  on(t.learn, Event::epoch_end, [](Learner& l) {
    if (l.progress().epoch == 5) l.cancel(Scope::train);
  });
  const test::LogFile log;
  t.learn.add<Recorder>();
  t.learn.add<Progress>(ProgressOptions{.live = Live::lines, .heartbeat_seconds = 0});
  t.learn.fit(1000, 0.1);
  // 1000 epochs of ten batches of 10 ms are 100 s. With the cold batches it would be 200, without
  // the validation 10. A busy machine sleeps longer than requested.
  const int eta = last_eta(log.text());
  CHECK(eta >= 90);
  CHECK(eta < 170);
}

TEST_CASE("the recorder keeps each batch, and per epoch the true mean of its losses") {
  Training training({2, 1}, {2}, with_metric());
  auto& recorder = training.learn.add<Recorder>();
  std::vector<double> losses;
  on(training.learn, Event::batch_end, [&](Learner& l) {
    if (l.progress().training) losses.push_back(get(l.batch().loss.value(), 0));
  });
  training.learn.fit(2, 0.1);

  const auto& batches = recorder.batches(training.learn);
  REQUIRE(batches.size() == 4);
  double sum = 0;
  double weight = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(batches[i].loss == losses[i]);
    CHECK(batches[i].batch == static_cast<std::int64_t>(i + 1));
    CHECK(batches[i].lr == 0.1F);
    sum = 0.98 * sum + 0.02 * losses[i];
    weight = 0.98 * weight + 0.02;
    CHECK(batches[i].smooth_loss == doctest::Approx(sum / weight));
  }
  CHECK(batches[0].epoch == 0.5);
  CHECK(batches[3].epoch == 2);

  REQUIRE(recorder.epochs().size() == 2);
  const EpochRecord& first = recorder.epochs()[0];
  CHECK(first.epoch == 1);
  CHECK(first.train_loss == doctest::Approx((2 * losses[0] + losses[1]) / 3));
  CHECK(first.valid_loss == doctest::Approx(first.valid_loss));
  REQUIRE(first.metrics.size() == 1);
  CHECK(first.metrics[0].second == 0.5);
  CHECK(first.seconds >= 0);
}

TEST_CASE("a batch that is cancelled after its loss is in no loss, plot or speed") {
  for (const Event event : {Event::loss_begin, Event::backward_end, Event::step_begin}) {
    Training training({2, 2, 2}, {});
    auto& recorder = training.learn.add<Recorder>();
    on(training.learn, event, [](Learner& l) {
      if (l.progress().batch_in_pass == 1) l.cancel(Scope::batch);
    });
    training.learn.fit(1, 0.0);
    const auto& batches = recorder.batches(training.learn);
    REQUIRE(batches.size() == 2);
    CHECK(batches[1].batch == 3);
    CHECK(batches[1].smooth_loss ==
          doctest::Approx((0.98 * batches[0].loss + batches[1].loss) / 1.98));
  }
}

TEST_CASE("one loss that is not finite does not blind the smoothed one") {
  Training training({2, 2, 2}, {2});
  auto& recorder = training.learn.add<Recorder>();
  training.train.gain_of_batch = [](std::size_t i) { return i == 1 ? INFINITY : 1.0; };
  training.learn.fit(1, 0.0);
  const auto& batches = recorder.batches(training.learn);
  REQUIRE(batches.size() == 3);
  CHECK_FALSE(std::isfinite(batches[1].loss));
  CHECK(std::isfinite(batches[2].smooth_loss));
  CHECK_THROWS_AS(Recorder(1.0), UsageError);
}

TEST_CASE(
    "an epoch that is cut short leaves no row, no best and no stale value, but a checkpoint") {
  const TemporaryFolder folder;
  Training training({2, 2}, {2}, with_metric());
  auto& recorder = training.learn.add<Recorder>();
  training.learn.add<CsvLogger>(folder / "r.csv");
  auto& saver = training.learn.add<Checkpointer>(
      CheckpointerOptions{.folder = folder.path(), .monitor = "valid_loss"});
  std::atomic<int> signal{0};
  training.learn.add<Interrupt>(signal);
  on(training.learn, Event::batch_begin, [&](Learner& l) {
    if (l.progress().batch_clock == 3) signal = 2;  // in the second batch of the second epoch
  });
  training.learn.fit(5, 0.1);
  CHECK(training.learn.progress().batch_clock == 4);
  CHECK(recorder.epochs().size() == 1);
  CHECK(recorder.batches(training.learn).size() == 4);
  CHECK(read_csv(folder / "r.csv").rows.size() == 1);
  CHECK(saver.best_epoch() == 1);
  const SafetensorsFile last(folder / "last.safetensors");
  CHECK(last.metadata().at("state.clocks.batch") == "4");
  CHECK(SafetensorsFile(folder / "last.prev.safetensors").metadata().at("state.clocks.batch") ==
        "2");
}

TEST_CASE("the table of epochs goes to a file, with one header over several fits") {
  const TemporaryFolder folder;
  Training training({2}, {2}, with_metric());
  training.learn.add<Recorder>();
  training.learn.add<CsvLogger>(folder / "results.csv");
  training.learn.fit(2, 0.1);
  training.learn.validate();  // leaves no row
  training.learn.fit(1, 0.05);
  const CsvTable table = read_csv(folder / "results.csv");
  CHECK(table.header == std::vector<std::string>{"epoch",
                                                 "time",
                                                 "train_loss",
                                                 "valid_loss",
                                                 "half",
                                                 "lr",
                                                 "skipped",
                                                 "loss_scale",
                                                 "samples_per_second"});
  REQUIRE(table.rows.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(table.rows[i][0] == std::to_string(i + 1));
  CHECK(table.rows[0][4] == "0.5");
  CHECK(table.rows[2][5] == "0.05");
}

TEST_CASE("a callback that needs a recorder says so if it is missing") {
  const TemporaryFolder folder;
  Training training;
  auto& csv = training.learn.add<CsvLogger>(folder / "r.csv");
  CHECK_THROWS_WITH_AS(
      training.learn.fit(1), doctest::Contains("csv_logger reads what the recorder"), UsageError);
  training.learn.remove(csv);
  training.learn.add<Checkpointer>(CheckpointerOptions{.folder = folder.path()});
  CHECK_THROWS_WITH_AS(training.learn.fit(1), doctest::Contains("checkpointer reads"), UsageError);
}

TEST_CASE("checkpoints: the best weights, the last state, and every second one") {
  const TemporaryFolder folder;
  Training training({2}, {2});
  training.learn.add<Recorder>();
  auto& saver = training.learn.add<Checkpointer>(CheckpointerOptions{
      .folder = folder / "weights", .every = 2, .metadata = {{"learn.model", "scale"}}});
  std::vector<std::vector<double>> weights;  // after each epoch
  on(training.learn, Event::epoch_end, [&](Learner& l) {
    weights.push_back(values(l.params().flat_master()));
    // Worse from the third epoch on, so that the best is not the last.
    if (weights.size() == 2) training.valid.gain_of_batch = [](std::size_t) { return 100.0; };
  });
  training.learn.fit(5, 0.1);
  CHECK(saver.best_epoch() == 2);
  for (const char* const name : {"last", "last.prev", "best", "epoch-0002", "epoch-0004"})
    CHECK(std::filesystem::exists(saver.path(name)));
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "weights"), {}) == 5);

  const SafetensorsFile best(saver.path("best"));
  CHECK(best.metadata().at("learn.model") == "scale");
  CHECK(best.metadata().at("learn.epoch") == "2");
  Training other;
  load_weights(saver.path("best"), other.learn.params());
  CHECK(values(other.learn.params().flat_master()) == weights[1]);
  load_weights(saver.path("epoch-0004"), other.learn.params());
  CHECK(values(other.learn.params().flat_master()) == weights[3]);

  // An equal learner loads the whole state and continues as the first one does.
  Training resumed({2}, {2});
  resumed.learn.add<Recorder>();
  resumed.learn.add<Checkpointer>(CheckpointerOptions{.folder = folder / "other"});
  on(resumed.learn, Event::epoch_end, [](Learner&) {});
  load_state(saver.path("last"), [&](StateVisitor& v) { resumed.learn.visit_state(v); });
  CHECK(resumed.learn.find<Checkpointer>()->best_epoch() == 2);
  training.learn.fit(1, 0.1);
  resumed.learn.fit(1, 0.1);
  CHECK(values(resumed.learn.params().flat_master()) ==
        values(training.learn.params().flat_master()));
}

TEST_CASE("an unknown monitor is named before the first batch") {
  const TemporaryFolder folder;
  Training training;
  training.learn.add<Recorder>();
  training.learn.add<Checkpointer>(
      CheckpointerOptions{.folder = folder.path(), .monitor = "acuracy"});
  CHECK_THROWS_WITH_AS(training.learn.fit(1), doctest::Contains("'acuracy'"), UsageError);
  CHECK(training.learn.progress().batch_clock == 0);
}

TEST_CASE("without a terminal the output has rows and no control characters") {
  Training training({2, 2}, {2}, with_metric());
  const std::string out = progress_output(training, {});
  CAPTURE(out);
  CHECK(out.find('\r') == std::string::npos);
  CHECK(out.find('\x1B') == std::string::npos);
  CHECK(std::count(out.begin(), out.end(), '\n') == 3);
  CHECK(out.find("epoch  train_loss  valid_loss") == 0);
  CHECK(out.find("\n    2  ") != std::string::npos);
  CHECK(out.find(" 0.5000 ") != std::string::npos);
}

TEST_CASE("on a terminal the bar is wiped before a row is printed") {
  Training training({2, 2}, {2}, with_metric());
  on(training.learn, Event::batch_begin, [](Learner&) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
    while (std::chrono::steady_clock::now() < until) {
    }
  });
  const std::string out = progress_output(training, {.live = Live::bar});
  CAPTURE(out);
  CHECK(out.find("\r\x1b[Kepoch 1/2  100%") != std::string::npos);
  CHECK(out.find("\r\x1b[Kepoch  train_loss") != std::string::npos);
  CHECK(out.find("\r\x1b[K    2  ") != std::string::npos);
}

TEST_CASE("the bar fits its terminal") {
  const BarState state{.epoch = 3,
                       .epochs = 10,
                       .batch = 60,
                       .batches = 98,
                       .loss = 0.59213,
                       .samples_per_second = 41902,
                       .eta_seconds = 74};
  CHECK(render_bar(state, 200, false) ==
        "epoch 3/10   61%  ############--------  60/98  loss 0.5921  41 902 samples/s  eta 1:14");
  // The bar shrinks; then what matters least goes first.
  CHECK(render_bar(state, 79, false) ==
        "epoch 3/10   61%  #######------  60/98  loss 0.5921  41 902 samples/s  eta 1:14");
  CHECK(render_bar(state, 71, false) ==
        "epoch 3/10   61%  ###--  60/98  loss 0.5921  41 902 samples/s  eta 1:14");
  CHECK(render_bar(state, 70, false) ==
        "epoch 3/10   61%  ######-----  loss 0.5921  41 902 samples/s  eta 1:14");
  CHECK(render_bar(state, 63, false) ==
        "epoch 3/10   61%  loss 0.5921  41 902 samples/s  eta 1:14");
  CHECK(render_bar(state, 47, false) == "epoch 3/10   61%  ###---  loss 0.5921  eta 1:14");
  CHECK(render_bar(state, 40, false) == "epoch 3/10   61%  loss 0.5921  eta 1:14");
  CHECK(render_bar(state, 38, false) == "epoch 3/10   61%  ####---  loss 0.5921");
  CHECK(render_bar(state, 17, false) == "epoch 3/10   61%");
  CHECK(render_bar(state, 4, false) == " 61%");
  CHECK(render_bar(state, 3, false).empty());
  for (std::size_t width = 0; width < 100; ++width)
    CHECK(render_bar(state, width, false).size() <= width);
  CHECK(render_bar({.batches = 0, .training = false}, 37, false) ==
        "valid 1/1    0%  ---------------  0/0");
}

TEST_CASE("plots are drawn when training ends, with a loss scale only if it moved") {
  const TemporaryFolder folder;
  Training training({2, 2}, {2}, with_metric());
  training.learn.add<Recorder>();
  training.learn.add<PlotResults>(folder.path(), "scale on tiny");
  training.learn.fit(2, 0.1);
  CHECK(std::filesystem::file_size(folder / "results.png") > 3000);
  CHECK(std::filesystem::file_size(folder / "lr_schedule.png") > 3000);
}
