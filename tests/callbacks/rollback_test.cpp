// A training that diverges goes back to its last state and continues at half the learning rate.
#include "callbacks/rollback.h"

#include "callbacks/checkpointer.h"
#include "callbacks/diagnose/first_non_finite.h"
#include "callbacks/ema.h"
#include "callbacks/lambda.h"
#include "callbacks/report/csv_logger.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/core/log.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checkpoint.h"
#include "framework/io/csv.h"
#include "framework/learner/history/recorder.h"
#include "framework/tensor/factory.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

using namespace tiny;
using namespace learn::callbacks;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A learner that can be rolled back.
struct Run {
  explicit Run(std::vector<std::int64_t> train_sizes = {2, 2}) : t(std::move(train_sizes), {2}) {
    t.learn.add<Recorder>();
    guard = &t.learn.add<TerminateOnNan>();
    saver = &t.learn.add<Checkpointer>(CheckpointerOptions{.folder = folder.path()});
    t.learn.add<CsvLogger>(folder / "results.csv");
  }
  std::int64_t fit(std::int64_t epochs, double lr, std::int64_t times = 3) {
    log::set_file((folder / "log").string());
    const std::int64_t made = fit_with_rollbacks(
        t.learn, [&] { t.learn.fit(epochs, lr); }, times);
    log::set_file({});
    return made;
  }
  [[nodiscard]] std::string log() const { return read_text_file(folder / "log"); }
  [[nodiscard]] std::string epochs_in_table() const {
    std::string out;
    for (const auto& row : read_csv(folder / "results.csv").rows) out += row.front() + " ";
    return out;
  }

  TemporaryFolder folder;
  Training t;
  TerminateOnNan* guard = nullptr;
  Checkpointer* saver = nullptr;
};

/// One layer after another.
class Two final : public nn::Module {
 public:
  explicit Two(const nn::Scope& scope)
      : Module(scope), first_(scope / "first"), second_(scope / "second") {}
  [[nodiscard]] std::string describe() const override { return "Two"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return second_(first_(x)); }

 private:
  Scale first_;
  Scale second_;
};

/// So many that the loss overflows in the first epoch at a rate that is too high.
std::vector<std::int64_t> many_batches() { return std::vector<std::int64_t>(400, 2); }

}  // namespace

TEST_CASE("a rate that is too high is halved until the training converges") {
  Run run(many_batches());
  CHECK(run.fit(2, 0.625) == 3);
  CHECK_FALSE(run.guard->terminated());
  CHECK(run.t.learn.optimizer().lr_factor() == 0.125F);
  CHECK(run.t.learn.optimizer().lr(0) == 0.078125F);
  CHECK(run.t.learn.progress().batch_clock == 800);
  CHECK(run.epochs_in_table() == "1 2 ");
  // From the first batch on, as if it had started with that rate.
  Run other(many_batches());
  CHECK(other.fit(2, 0.078125) == 0);
  CHECK(values(run.t.learn.params().flat_master()) == values(other.t.learn.params().flat_master()));
  CHECK(run.log().find("[rollback] 3 of 3: back to the state after batch 0, in epoch 1; from now "
                       "on the learning rate is multiplied by 0.125") != std::string::npos);
}

TEST_CASE("a training that no rate helps stays diverged, with the state before it") {
  Run run;
  run.t.train.gain_of_batch = [&](std::size_t batch) {
    return run.t.learn.progress().epoch == 2 && batch == 1 ? kInf : 1.0;
  };
  CHECK(run.fit(5, 0.01) == 3);
  CHECK(run.guard->terminated());
  CHECK(run.guard->why() ==
        "the loss of epoch 3, batch 2 is inf (the batch's inputs are not finite)");
  CHECK(run.t.learn.progress().batch_clock == 6);
  CHECK(SafetensorsFile(run.saver->path("last")).metadata().at("learn.epoch") == "2");
  CHECK(run.epochs_in_table() == "1 2 ");
}

TEST_CASE("epochs that went well are kept, and a state that is damaged is passed over") {
  Run run;
  std::int64_t bad = 1;
  run.t.train.gain_of_batch = [&](std::size_t) {
    return run.t.learn.progress().epoch == 3 && bad > 0 ? kInf : 1.0;
  };
  on(run.t.learn, Event::train_end, [&](Learner&) {
    if (--bad == 0) write_file_atomically(run.saver->path("last"), "damaged");
  });
  CHECK(run.fit(5, 0.01) == 1);
  CHECK_FALSE(run.guard->terminated());
  CHECK(run.epochs_in_table() == "1 2 3 4 5 ");
  CHECK(run.t.train.epochs_begun == std::vector<std::int64_t>{0, 1, 2, 3, 2, 3, 4});
  CHECK(run.log().find("back to the state after batch 4, in epoch 3") != std::string::npos);
  CHECK(std::filesystem::exists(run.folder / "last.damaged.safetensors"));
}

TEST_CASE("an error that says the training diverges is rolled back too, and thrown at last") {
  for (const int failures : {2, 9}) {
    CAPTURE(failures);
    Run run;
    int left = failures;
    on(run.t.learn, Event::epoch_end, [&](Learner& l) {
      if (l.progress().epoch == 1 && left-- > 0) fail<DivergedError>("nothing is learned");
    });
    if (failures == 2) {
      CHECK(run.fit(3, 0.01) == 2);
      CHECK(run.t.learn.progress().epoch_clock == 3);
    } else {
      CHECK_THROWS_WITH_AS((void)run.fit(3, 0.01), "nothing is learned", DivergedError);
      CHECK(left == 5);
    }
    CHECK(run.log().find("[rollback] nothing is learned") != std::string::npos);
  }
}

TEST_CASE("the halved rate is part of the state that a later run resumes") {
  Run run;
  bool bad = true;
  run.t.train.gain_of_batch = [&](std::size_t) {
    return run.t.learn.progress().epoch == 1 && std::exchange(bad, false) ? kInf : 1.0;
  };
  on(run.t.learn, Event::epoch_end, [](Learner& l) {
    if (l.progress().epoch == 2) l.cancel(Scope::train);
  });
  CHECK(run.fit(5, 0.01) == 1);
  Run next;
  load_state(run.saver->path("last"), [&](StateVisitor& v) { next.t.learn.visit_state(v); });
  next.t.learn.resume();
  CHECK(next.fit(5, 0.01) == 0);
  CHECK(next.t.learn.optimizer().lr_factor() == 0.5F);
}

TEST_CASE("a rollback needs callbacks that detect and save, and keeps nothing else") {
  Training t;
  const auto fit = [&] { t.learn.fit(1, 0.01); };
  const char* const needs =
      "a rollback needs the callbacks terminate_on_nan and checkpointer, and the latter must save "
      "'last'";
  t.learn.add<Recorder>();
  const auto refused = [&] {
    std::string text;
    try {
      (void)fit_with_rollbacks(t.learn, fit);
    } catch (const UsageError& e) {
      text = e.what();
    }
    return text.find(needs) != std::string::npos;
  };
  CHECK(refused());
  t.learn.add<TerminateOnNan>();
  CHECK(refused());
  const TemporaryFolder folder;
  auto& saver =
      t.learn.add<Checkpointer>(CheckpointerOptions{.folder = folder.path(), .last = false});
  CHECK(refused());
  t.learn.remove(saver);
  t.learn.add<Checkpointer>(CheckpointerOptions{.folder = folder.path()});
  CHECK(fit_with_rollbacks(t.learn, fit) == 0);
  CHECK(t.learn.explain().find("save_start") == std::string::npos);
}

TEST_CASE("a fit with its own callbacks is rolled back with them") {
  Run run;
  const FitCallbacks of_fit{std::make_shared<Ema>(EmaOptions{.decay = 0.5})};
  std::int64_t bad = 1;
  run.t.train.gain_of_batch = [&](std::size_t) {
    return run.t.learn.progress().epoch == 1 && bad-- > 0 ? kInf : 1.0;
  };
  const auto fit = [&] { run.t.learn.fit(2, 0.01, of_fit); };
  CHECK(fit_with_rollbacks(run.t.learn, fit, 3, of_fit) == 1);
  CHECK(run.t.learn.progress().batch_clock == 4);
  CHECK(SafetensorsFile(run.saver->path("last")).tensors().contains("model.ema.weight"));
}

TEST_CASE(
    "the first value that is not finite is named: a parameter, inputs, a layer, a running "
    "statistic") {
  Training t;
  nn::ParamStore& params = t.learn.params();
  std::string found = "not asked";
  double input = 1;
  t.train.gain_of_batch = [&](std::size_t) { return input; };
  const std::vector<double> before = values(params.flat_buffers());
  auto& asks = on(t.learn, Event::backward_begin, [&](Learner& l) {
    CHECK(values(params.flat_buffers()) != before);  // the forward pass has changed them
    found = first_non_finite(l);
    if (std::isfinite(input) && !found.starts_with("the parameter"))
      CHECK(values(params.flat_buffers()) == before);
    l.cancel(Scope::train);
  });
  const auto first = [&] {
    t.learn.fit(1, 0.01);
    return found;
  };
  CHECK(first() == "");
  input = kInf;
  CHECK(first() == "the batch's inputs are not finite");
  input = 1;
  Tensor weight = params.master(0);
  set(weight, 1, 1e30);
  Tensor gain = params.master(1);
  set(gain, 1, 1e30);
  CHECK(first() == "the output of Scale is the first");
  CHECK(values(params.flat_buffers()) == before);
  set(gain, 1, std::numeric_limits<double>::quiet_NaN());
  CHECK(first() == "the parameter 'gain' is not finite");
  set(gain, 1, 1);
  set(weight, 1, 1);
  set(params.buffer(0).value, 2, kInf);
  t.learn.remove(asks);
  CHECK(first_non_finite(t.learn) == "the running statistic 'running' is not finite");
}

TEST_CASE("the first of several layers whose outputs are not finite is named") {
  Training t({2}, {}, {}, nn::make_model<Two>("two", {kFeatures}, 0));
  Tensor second = t.learn.params().master(2);
  set(second, 0, 3e38);
  std::string found;
  on(t.learn, Event::backward_begin, [&](Learner& l) {
    found = first_non_finite(l);
    l.cancel(Scope::train);
  });
  t.train.gain_of_batch = [](std::size_t) { return 100.0; };
  t.learn.fit(1, 0.01);
  CHECK(found == "the output of 'second', Scale, is the first");
  Tensor first = t.learn.params().master(0);
  set(first, 0, 3e38);
  t.learn.fit(1, 0.01);
  CHECK(found == "the output of 'first', Scale, is the first");
}
