// metrics.jsonl has each batch and each epoch once, whatever happened between the fits that wrote
// it.
#include "callbacks/report/metrics_log.h"

#include "callbacks/lambda.h"
#include "framework/io/atomic_file.h"
#include "framework/learner/history/recorder.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>
#include <limits>

using namespace tiny;
using namespace learn::callbacks;

namespace {

struct Run {
  explicit Run(const TemporaryFolder& folder, std::int64_t every = 1) : file(folder / "m.jsonl") {
    t.learn.add<Recorder>();
    t.learn.add<MetricsLog>(MetricsLogOptions{.path = file, .every = every});
  }
  std::filesystem::path file;
  Training t{{2, 2, 2}, {2}};
};

/// "b1 b2 b3 e1 ...".
std::string order_of(const std::filesystem::path& file) {
  std::string order;
  for (const JsonLine& line : read_json_lines(file)) {
    const std::string& kind = line.texts.at("kind");
    order += fmt::format("{}{}{}", order.empty() ? "" : " ", kind[0], line.numbers.at(kind));
  }
  return order;
}

}  // namespace

TEST_CASE("each batch and each epoch has a line with what was recorded") {
  const TemporaryFolder folder;
  Run run(folder);
  run.t.learn.fit(2, 0.01);
  CHECK(order_of(run.file) == "b1 b2 b3 e1 b4 b5 b6 e2");
  const std::vector<JsonLine> lines = read_json_lines(run.file);
  const Recorder& recorder = *run.t.learn.find<Recorder>();
  const BatchRecord& batch = recorder.batches_read().at(4);
  const JsonLine& b5 = lines.at(5);
  CHECK(b5.numbers.at("loss") == batch.loss);
  CHECK(b5.numbers.at("smooth_loss") == batch.smooth_loss);
  CHECK(b5.numbers.at("epoch") == batch.epoch);
  CHECK(b5.text.find("\"lr\": 0.01,") != std::string::npos);  // of a float
  CHECK(b5.text.find("grad_norm") == std::string::npos);
  CHECK(lines.at(7).numbers.at("valid_loss") == recorder.epochs().at(1).valid_loss);
  run.t.learn.fit(1, 0.01);  // continues
  CHECK(order_of(run.file) == "b1 b2 b3 e1 b4 b5 b6 e2 b7 b8 b9 e3");
}

TEST_CASE("rows of batches can be fewer, or none") {
  const TemporaryFolder folder;
  Run third(folder, 3);
  third.t.learn.fit(2, 0.01);
  CHECK(order_of(third.file) == "b3 e1 b6 e2");
  Run none(folder, 0);
  none.t.learn.fit(2, 0.01);
  CHECK(order_of(none.file) == "e1 e2");
  CHECK_THROWS_AS(MetricsLog({.every = -1}), UsageError);
}

TEST_CASE("a resumed run has each line once, a torn one is dropped") {
  const TemporaryFolder folder;
  test::MemoryState state;
  {
    Run first(folder);
    on(
        first.t.learn,
        Event::epoch_end,
        [&](Learner& l) {
          if (l.progress().epoch_clock == 2) state = test::save(first.t.ctx, l);
        },
        "save",
        1000);
    first.t.learn.fit(4, 0.01);
  }
  std::ofstream(folder / "m.jsonl", std::ios::app) << "{\"kind\": \"batch\", \"ba";
  Run second(folder);
  test::load(second.t.ctx, state, second.t.learn);
  second.t.learn.resume();
  second.t.learn.fit(4, 0.01);
  CHECK(order_of(second.file) == "b1 b2 b3 e1 b4 b5 b6 e2 b7 b8 b9 e3 b10 b11 b12 e4");
}

TEST_CASE("a loss that is not finite is null, and a training that throws leaves its batches") {
  const TemporaryFolder folder;
  Run run(folder);
  run.t.train.gain_of_batch = [](std::size_t batch) {
    return batch == 1 ? std::numeric_limits<double>::infinity() : 1.0;
  };
  on(run.t.learn, Event::batch_begin, [](Learner& l) {
    if (l.progress().batch_clock == 2) throw std::runtime_error("thrown");
  });
  CHECK_THROWS_WITH(run.t.learn.fit(1, 0.01), "thrown");
  CHECK(order_of(run.file) == "b1 b2");
  CHECK(read_text_file(run.file).find("\"loss\": null") != std::string::npos);
}
