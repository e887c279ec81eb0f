#include "callbacks/report/schedule_preview.h"

#include "framework/optim/registry.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

using namespace learn;
using namespace learn::callbacks;

namespace {

/// Values used by each batch of a training.
class Watch final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "watch"; }
  [[nodiscard]] int order() const override { return order::kTracker; }
  void batch_end(Learner& learn) override {
    if (learn.progress().training) seen.push_back(learn.optimizer().all_hypers());
  }
  std::vector<std::vector<GroupHypers>> seen;
};

const SchedulePreview::Line& line_of(const SchedulePreview& preview, Hyper hyper) {
  return *std::ranges::find(preview.lines, hyper, &SchedulePreview::Line::hyper);
}

std::vector<ScheduledHyper> one_cycle(double rate) {
  return scheduled(rate, 1, [](double lr) { return optim::schedules::one_cycle(lr); });
}

}  // namespace

TEST_CASE("a preview is what the training then does") {
  tiny::Training t({2, 2, 2});
  t.learn.add<ParamScheduler>(one_cycle(0.1));
  t.learn.add<ParamScheduler>(
      std::vector<ScheduledHyper>{{Hyper::weight_decay, {optim::schedules::linear(0.2, 0.1)}}},
      Clock::batch,
      "decay");
  const SchedulePreview preview = preview_schedule(t.learn, 4);
  CHECK(preview.batches_per_epoch == 3);
  REQUIRE(preview.batches.size() == 12);
  CHECK(preview.batches.back() == 11);
  const auto hypers = t.learn.optimizer().all_hypers();
  auto& watch = t.learn.add<Watch>();
  t.learn.fit(4);
  REQUIRE(watch.seen.size() == 12);
  for (std::size_t i = 0; i < 12; ++i)
    for (const Hyper hyper : {Hyper::lr, Hyper::momentum, Hyper::weight_decay}) {
      CAPTURE(i);
      CHECK(line_of(preview, hyper).values[i] ==
            static_cast<double>(value_of(watch.seen[i][0], hyper)));
    }
  CHECK(line_of(preview, Hyper::lr).scheduled);
  CHECK(hypers[0].lr == t.learn.optimizer().all_hypers()[0].lr);
}

TEST_CASE("a value that is not scheduled keeps its initial value") {
  LearnerOptions options;
  options.lr = 0.25;
  tiny::Training t({2, 2}, {2}, options);
  const SchedulePreview preview = preview_schedule(t.learn, 2);
  CHECK(preview.lines.size() == 3);
  CHECK(line_of(preview, Hyper::lr).values == std::vector<double>(4, 0.25));
  CHECK_FALSE(line_of(preview, Hyper::lr).scheduled);
  CHECK(line_of(preview, Hyper::momentum).values.front() == doctest::Approx(0.9));
  CHECK_THROWS_AS((void)preview_schedule(t.learn, 0), UsageError);
}

TEST_CASE("a long training is sampled, its ends are not left out") {
  tiny::Training t(std::vector<std::int64_t>(50, 1));
  t.learn.add<ParamScheduler>(one_cycle(0.1));
  const SchedulePreview preview = preview_schedule(t.learn, 100);
  CHECK(preview.batches.size() >= 1024);
  CHECK(preview.batches.size() < 1024 + 11);
  CHECK(preview.batches.front() == 0);
  CHECK(preview.batches.back() == 4999);
  CHECK(std::ranges::is_sorted(preview.batches));
  const std::string table = preview.to_string();
  CHECK(table.find("100 epochs of 50 batches") != std::string::npos);
  CHECK(table.find("learning rate: from 0.004 to") != std::string::npos);
  CHECK(table.find("highest 0.1 in epoch 25.0") != std::string::npos);
  CHECK(table.find("momentum or beta1: from 0.95 to 0.95, lowest 0.85") != std::string::npos);
  CHECK(table.find("99.98  5 000") != std::string::npos);
  // Three lines above the table, its head, and rows.
  CHECK(std::ranges::count(table, '\n') == 3 + 1 + 11);
  CHECK(std::ranges::count(preview.to_string(2), '\n') == 3 + 1 + 2);
  tiny::Training single({1});
  CHECK(std::ranges::count(preview_schedule(single.learn, 1).to_string(), '\n') == 1 + 1 + 1);
}

TEST_CASE("a figure of a schedule has a panel for each hyper-parameter, up to the last epoch") {
  tiny::Training t({2, 2});
  t.learn.add<ParamScheduler>(one_cycle(0.1));
  t.learn.add<ParamScheduler>(
      std::vector<ScheduledHyper>{{Hyper::eps, {optim::schedules::constant(0.5)}}},
      Clock::batch,
      "eps");
  const plot::Figure figure = preview_schedule(t.learn, 3).figure("a title");
  CHECK(figure.title == "a title");
  REQUIRE(figure.panels.size() == 4);
  CHECK(figure.panels[0].y_label == "learning rate");
  CHECK(figure.panels[1].title == "Momentum");
  CHECK(figure.panels[3].y_label == "eps");
  REQUIRE(figure.panels[0].series.size() == 1);
  CHECK(figure.panels[0].series[0].name == "learning rate");
  CHECK(figure.panels[0].series[0].x.front() == 0);
  CHECK(figure.panels[0].series[0].x.back() == 3);
}

TEST_CASE("each layer group has its line, and a schedule that fits no groups is refused") {
  tiny::Training t;
  t.learn.add<ParamScheduler>(std::vector<ScheduledHyper>{
      {Hyper::lr, {optim::schedules::constant(1), optim::schedules::constant(2)}}});
  CHECK_THROWS_WITH_AS((void)preview_schedule(t.learn, 1),
                       doctest::Contains("2 schedules for 'lr', but the model has 1 layer groups"),
                       UsageError);
}

TEST_CASE("rows of a schedule are at the start of epochs, or of equal parts of them") {
  const auto epochs_of = [](std::int64_t epochs, std::int64_t batches, std::int64_t rows = 11) {
    tiny::Training t(std::vector<std::int64_t>(static_cast<std::size_t>(batches), 1));
    t.learn.add<ParamScheduler>(one_cycle(0.1));
    std::istringstream table(preview_schedule(t.learn, epochs).to_string(rows));
    std::string seen;
    bool in_table = false;
    for (std::string line; std::getline(table, line);) {
      if (in_table)
        seen += line.substr(line.find_first_not_of(' ')).substr(0, line.find("  ")) + "|";
      in_table = in_table || line.find("epoch  ") != std::string::npos;
    }
    std::string first;  // of each row
    std::istringstream rows_seen(seen);
    for (std::string row; std::getline(rows_seen, row, '|');)
      first += row.substr(0, row.find(' ')) + " ";
    return first;
  };
  CHECK(epochs_of(5, 100) == "0.00 0.50 1.00 1.50 2.00 2.50 3.00 3.50 4.00 4.50 4.99 ");
  CHECK(epochs_of(2, 300) == "0.00 0.20 0.40 0.60 0.80 1.00 1.20 1.40 1.60 1.80 2.00 ");
  CHECK(epochs_of(8, 400) == "0.00 1.00 2.00 3.00 4.00 5.00 6.00 7.00 8.00 ");
  CHECK(epochs_of(24, 90) == "0.00 3.00 6.00 9.00 12.00 15.00 18.00 21.00 23.99 ");
  CHECK(epochs_of(3, 1) == "0.00 1.00 2.00 ");
  CHECK(epochs_of(1, 3) == "0.00 0.33 0.67 ");
}
