// A training whose loss is no longer finite ends, and leaves what was good as it was.
#include "callbacks/checkpointer.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/core/log.h"
#include "framework/io/atomic_file.h"
#include "framework/io/safetensors.h"
#include "framework/learner/history/monitor.h"
#include "framework/learner/history/recorder.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tiny;
using namespace learn::callbacks;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A learner with a folder for its files.
struct Run {
  explicit Run(const LearnerOptions& options = {}) : t({2, 2}, {2}, options) {
    recorder = &t.learn.add<Recorder>();
  }
  std::string fit(std::int64_t epochs) {
    log::set_file((folder / "log").string());
    t.learn.fit(epochs, 0.01);
    log::set_file({});
    return read_text_file(folder / "log");
  }
  [[nodiscard]] std::string saved_epochs(const char* file) const {
    const std::filesystem::path path = folder / (std::string(file) + ".safetensors");
    if (!std::filesystem::exists(path)) return "no file";
    return SafetensorsFile(path).metadata().at("learn.epoch");
  }

  TemporaryFolder folder;
  Training t;
  Recorder* recorder = nullptr;
};

}  // namespace

TEST_CASE("a validation loss that is not finite ends the training and is never the best") {
  for (const double bad : {kInf, kNaN}) {
    CAPTURE(bad);
    Run run;
    auto& guard = run.t.learn.add<TerminateOnNan>();
    auto& saver = run.t.learn.add<Checkpointer>(CheckpointerOptions{.folder = run.folder.path()});
    run.t.valid.gain_of_batch = [&](std::size_t) {
      return run.t.learn.progress().epoch == 1 ? bad : 1.0;
    };
    const std::string log = run.fit(5);
    CAPTURE(log);
    CHECK(guard.terminated());
    CHECK(run.t.learn.progress().batch_clock == 4);
    CHECK(run.recorder->epochs().size() == 1);
    CHECK(saver.best_epoch() == 1);
    CHECK(run.saved_epochs("best") == "1");
    CHECK(run.saved_epochs("last") == "1");
    CHECK(run.saved_epochs("last.prev") == "no file");
    CHECK(log.find("the validation loss of epoch 2 is") != std::string::npos);
    CHECK(log.find("last.safetensors' contains the previous state") != std::string::npos);
    run.t.valid.gain_of_batch = [](std::size_t) { return 1.0; };
    (void)run.fit(1);
    CHECK_FALSE(guard.terminated());
  }
}

TEST_CASE("the advice after divergence does not repeat what is set already, and NaN has no sign") {
  const auto log_of = [](bool clips, bool halves) {
    Run run;
    run.t.learn.add<TerminateOnNan>();
    if (clips) run.t.learn.add<GradientClip>(2.0F);
    if (halves) to_fp16(run.t.learn, {});
    run.t.valid.gain_of_batch = [&](std::size_t) { return -kNaN; };
    return run.fit(1);
  };
  const auto says = [](const std::string& log, const char* text) {
    CAPTURE(log);
    CHECK(log.find(text) != std::string::npos);
  };
  says(log_of(false, false), "Try a lower learning rate or gradient clipping\n");
  says(log_of(true, false), "Try a lower learning rate or gradients clipped below 2\n");
  says(log_of(false, true), "Try a lower learning rate, gradient clipping, or fp32\n");
  says(log_of(true, true), "Try a lower learning rate, gradients clipped below 2, or fp32\n");
  says(log_of(true, true), "the validation loss of epoch 1 is nan");
}

TEST_CASE("a training that diverges in its first epoch leaves no checkpoint") {
  Run run;
  run.t.learn.add<TerminateOnNan>();
  run.t.learn.add<Checkpointer>(CheckpointerOptions{.folder = run.folder.path(), .every = 1});
  run.t.valid.gain_of_batch = [&](std::size_t) { return kNaN; };
  const std::string log = run.fit(3);
  for (const char* const file : {"best", "last", "epoch-0001"})
    CHECK(run.saved_epochs(file) == "no file");
  CHECK(log.find("a previous state does not exist") != std::string::npos);
}

TEST_CASE("a training loss that is not finite leaves the last good state") {
  Run run;
  run.t.learn.add<TerminateOnNan>();
  run.t.learn.add<Checkpointer>(CheckpointerOptions{.folder = run.folder.path()});
  run.t.train.gain_of_batch = [&](std::size_t batch) {
    return run.t.learn.progress().epoch == 2 && batch == 1 ? kInf : 1.0;
  };
  const std::string log = run.fit(5);
  CHECK(run.t.learn.progress().batch_clock == 6);
  CHECK(run.saved_epochs("last") == "2");
  CHECK(run.saved_epochs("last.prev") == "1");
  CHECK(log.find("the loss of epoch 3, batch 2 is") != std::string::npos);
}

TEST_CASE("validation without losses, or outside of a fit, ends nothing") {
  Run run;
  auto& guard = run.t.learn.add<TerminateOnNan>();
  auto& cancels =
      on(run.t.learn, Event::validate_begin, [](Learner& l) { l.cancel(Scope::validate); });
  (void)run.fit(2);
  CHECK(std::isnan(run.t.learn.results().valid_loss));
  CHECK_FALSE(guard.terminated());
  run.t.learn.remove(cancels);
  run.t.valid.gain_of_batch = [](std::size_t) { return kNaN; };
  run.t.learn.validate();
  CHECK(std::isnan(run.t.learn.results().valid_loss));
  CHECK_FALSE(guard.terminated());
}

TEST_CASE("weights whose validation loss is not finite are not the best by another measure") {
  LearnerOptions options;
  options.metrics = {{"rows", [](Context&, const Tensor& pred, const Tensor&) {
                        return static_cast<double>(pred.shape()[0]);
                      }}};
  Run run(options);
  auto& saver = run.t.learn.add<Checkpointer>(
      CheckpointerOptions{.folder = run.folder.path(), .monitor = "rows"});
  run.t.valid.gain_of_batch = [&](std::size_t) {
    return run.t.learn.progress().epoch == 0 ? kNaN : 1.0;
  };
  (void)run.fit(2);
  CHECK(run.recorder->epochs().size() == 2);  // nothing checked it
  CHECK(saver.best_epoch() == 2);
}

TEST_CASE("a value that is not finite is never the best, and does not block one") {
  for (const Better better : {Better::lower, Better::higher})
    for (const double bad : {kInf, -kInf, kNaN}) {
      Monitor monitor("score", better);
      CHECK_FALSE(monitor.improves(bad));
      CHECK_FALSE(monitor.best().has_value());
      CHECK(monitor.improves(3));
      CHECK_FALSE(monitor.improves(bad));
      CHECK(monitor.improves(better == Better::lower ? 2 : 4));
    }
}

TEST_CASE("a batch whose step was skipped for its loss does not hide the mean of the others") {
  const auto losses = [](bool half) {
    Training t({2, 2, 2}, {});
    if (half) to_fp16(t.learn, {.loss_scale = 8.0F});
    t.train.gain_of_batch = [](std::size_t batch) { return batch == 1 ? kInf : 1.0; };
    t.learn.add<Recorder>();
    t.learn.fit(1, 0);
    const auto& batches = t.learn.find<Recorder>()->batches(t.learn);
    CHECK_FALSE(std::isfinite(batches.at(1).loss));
    CHECK(t.learn.results().skipped_steps == (half ? 1 : 0));
    return std::pair(t.learn.results().train_loss, (batches.at(0).loss + batches.at(2).loss) / 2);
  };
  const auto [mean, expected] = losses(true);
  CHECK(mean == expected);
  // In f32 the update was made: that the weights are spoilt must not be hidden.
  CHECK_FALSE(std::isfinite(losses(false).first));
}

TEST_CASE("losses are NaN before there are any") {
  Training t({2}, {});
  CHECK(std::isnan(t.learn.results().train_loss));
  t.learn.fit(1, 0.1);
  CHECK(std::isfinite(t.learn.results().train_loss));
  CHECK(std::isnan(t.learn.results().valid_loss));
  CHECK(t.learn.results().valid_samples == 0);
}
