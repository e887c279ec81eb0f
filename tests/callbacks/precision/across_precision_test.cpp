// A state that was saved in one precision continues in any other.
#include "callbacks/ema.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/precision/pure_half.h"
#include "framework/io/checkpoint.h"
#include "framework/learner/history/recorder.h"
#include "framework/optim/adam.h"
#include "tests/callbacks/net_training.h"
#include "tests/support/log_file.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_folder.h"

#include <memory>

using namespace tiny;
using namespace learn::callbacks;

namespace {

constexpr std::int64_t kEpochs = 4;

/// A precision, by its name in a state and what sets it.
struct Mode {
  std::string name;
  std::function<void(Learner&)> add;
  std::optional<float> first_scale;
};

Mode half_model(DType dtype, const std::optional<float>& scale, LossScaleOptions scaling = {}) {
  return {dtype == DType::f16 ? "fp16" : "bf16",
          [=](Learner& l) {
            l.add<MixedPrecision>(
                MixedPrecisionOptions{.dtype = dtype, .loss_scale = scale, .scaling = scaling});
          },
          scale};
}

Mode autocast_to(DType dtype,
                 const std::optional<float>& scale,
                 LossScaleOptions scaling = NativeMixedPrecisionOptions{}.scaling) {
  return {dtype == DType::f16 ? "fp16-amp" : "bf16-amp",
          [=](Learner& l) {
            l.add<NativeMixedPrecision>(NativeMixedPrecisionOptions{
                .dtype = dtype, .loss_scale = scale, .scaling = scaling});
          },
          scale};
}

Mode pure(DType dtype) {
  return {dtype == DType::f16 ? "pure-fp16" : "pure-bf16",
          [=](Learner& l) { l.add<PureHalf>(PureHalfOptions{.dtype = dtype}); },
          std::nullopt};
}

const Mode kFull{"fp32", [](Learner&) {}, std::nullopt};

std::vector<Mode> modes() {
  return {kFull,
          half_model(DType::f16, 8192.0F),
          half_model(DType::bf16, std::nullopt),
          autocast_to(DType::f16, 64.0F),
          autocast_to(DType::bf16, std::nullopt),
          pure(DType::f16),
          pure(DType::bf16)};
}

LearnerOptions with_adam() {
  LearnerOptions options;
  options.optimizer = optim::adam();
  return options;
}

/// A program that trains: Adam's two moments unless it has another optimizer, an average, a
/// history, one cycle.
struct Program {
  explicit Program(const Mode& mode, const LearnerOptions& options = with_adam())
      : t({4, 4, 4, 4}, {4}, options, nn::make_model<LayeredNet>("net", {kFeatures}, 3)),
        learn(t.learn) {
    mode.add(learn);
    learn.add<Ema>(EmaOptions{.decay = 0.9});
    learn.add<Recorder>();
  }
  /// Up to the end of a batch, counted from 1.
  void fit_until(std::int64_t batch) {
    auto& stop = on(learn, Event::batch_end, [batch](Learner& l) {
      if (l.progress().training && l.progress().batch_clock == batch) l.cancel(Scope::train);
    });
    fit();
    learn.remove(stop);
  }
  void fit() { learn.fit_one_cycle(kEpochs, 0.02); }
  [[nodiscard]] test::MemoryState state() { return test::save(t.ctx, learn); }
  void load(const test::MemoryState& state) {
    test::load(t.ctx, state, learn);
    learn.resume();
  }
  [[nodiscard]] StepControl control() { return learn.optimizer().read_control(); }

  Training t;
  Learner& learn;
};

/// The middle of the second epoch.
constexpr std::int64_t kStopped = 6;

test::MemoryState stopped_in(const Mode& mode, const LearnerOptions& options = with_adam()) {
  Program program(mode, options);
  program.fit_until(kStopped);
  return program.state();
}

/// All but what a crossing may change.
bool is_of_scale(const std::string& name) {
  return name.starts_with("precision.") || name == "optimizer.loss_scale" ||
         name == "optimizer.inverse_scale" || name == "optimizer.clean_steps";
}

template <class Value>
std::map<std::string, Value> carried(const std::map<std::string, Value>& all) {
  std::map<std::string, Value> out;
  for (const auto& [name, value] : all)
    if (!is_of_scale(name)) out[name] = value;
  return out;
}

std::map<std::string, std::vector<double>> numbers(const test::MemoryState& state) {
  std::map<std::string, std::vector<double>> out;
  for (const auto& [name, tensor] : state.tensors) out[name] = values(tensor);
  return out;
}

/// Nothing else than the scale is another one.
void check_carried(const test::MemoryState& then, const test::MemoryState& now) {
  CHECK(numbers(now) == numbers(then));
  CHECK(carried(now.integers) == carried(then.integers));
  CHECK(carried(now.reals) == carried(then.reals));
  CHECK(carried(now.texts) == carried(then.texts));
}

}  // namespace

TEST_CASE("a state saved in any precision continues in any other, with all it holds") {
  for (const Mode& saved : modes()) {
    const test::MemoryState state = stopped_in(saved);
    CHECK(state.texts.at("precision.name") == saved.name);
    for (const std::string name :
         {"model.ema.first.weight", "model.mean.first.weight", "model.mean_square.first.weight"}) {
      CAPTURE(name);
      REQUIRE(state.tensors.contains(name));
      CHECK(distance(values(state.tensors.at(name)),
                     std::vector<double>(
                         static_cast<std::size_t>(state.tensors.at(name).elements()))) > 0);
    }
    for (const Mode& other : modes()) {
      CAPTURE(saved.name);
      CAPTURE(other.name);
      const test::LogFile log;
      Program program(other);
      program.load(state);
      check_carried(state, program.state());
      CHECK(log.count("a different training") == (other.name == saved.name ? 0 : 1));
      CHECK(program.control().step == kStopped);
      // The scale of the saved precision, the new precision's initial one, or none.
      const float scale =
          !other.first_scale ? 1.0F : saved.first_scale.value_or(*other.first_scale);
      CHECK(program.control().loss_scale == scale);
      CHECK(program.control().inverse_scale == 1 / scale);

      program.fit();
      check_one_source_of_truth(program.learn);
      CHECK(program.learn.progress().epoch_clock == kEpochs);
      CHECK(program.control().step + program.control().skipped == 4 * kEpochs);
      CHECK(program.control().skipped == 0);
      CHECK(program.control().loss_scale == scale);
      const auto& batches = program.learn.find<Recorder>()->batches(program.learn);
      REQUIRE(batches.size() == 4 * kEpochs);
      CHECK(batches[kStopped - 1].loss_scale == saved.first_scale.value_or(1.0F));
      CHECK(batches[kStopped].loss_scale == scale);
      const double before = batches[kStopped - 1].loss;
      CHECK(std::isfinite(batches.back().loss));
      CHECK(batches.back().loss < 0.9 * before);
    }
  }
}

TEST_CASE("a training continued in another precision stays close to one that kept its precision") {
  // Whose steps are as large as its gradients, unlike Adam's.
  Program straight(kFull, with_momentum());
  straight.fit();
  const std::vector<double> masters = values(straight.learn.params().flat_master());
  for (const Mode& saved : modes())
    for (const Mode& other : modes()) {
      CAPTURE(saved.name);
      CAPTURE(other.name);
      Program program(other, with_momentum());
      program.load(stopped_in(saved, with_momentum()));
      program.fit();
      // 0.004 is what batches in bf16 (8 bits) make of it; without masters each of eight updates is
      // rounded by up to 2^-9 too. Steps of a wrong scale, or momentum that starts again, lead
      // further away.
      const bool rounded = saved.name == "pure-bf16" || other.name == "pure-bf16";
      CHECK(distance(values(program.learn.params().flat_master()), masters) <
            (rounded ? 8 * 0x1p-9 : 0.006));
    }
}

TEST_CASE("continuing in an unchanged precision is bit-exact and silent") {
  for (const Mode& mode : modes()) {
    CAPTURE(mode.name);
    Program straight(mode);
    straight.fit();
    const test::LogFile log;
    Program resumed(mode);
    resumed.load(stopped_in(mode));
    resumed.fit();
    CHECK(Snapshot(resumed.learn) == Snapshot(straight.learn));
    CHECK(log.count("[resume]") == 0);
  }
}

TEST_CASE(
    "there and back again: a stay in another precision leaves masters and moments as they are") {
  for (const Mode& saved : modes())
    for (const Mode& other : modes()) {
      CAPTURE(saved.name);
      CAPTURE(other.name);
      const test::MemoryState state = stopped_in(saved);
      Program there(other);
      there.load(state);
      Program back(saved);
      back.load(there.state());
      check_carried(state, back.state());
    }
}

TEST_CASE("the loss scale across precisions: kept within bounds, started or dropped") {
  const LossScaleOptions low{.ceiling = 512};
  const LossScaleOptions high{.floor = 0x1p14F};
  const LossScaleOptions fixed{.dynamic = false};
  struct Case {
    Mode saved, other;
    float scale;
    const char* line;
  };
  const Mode half = half_model(DType::f16, 8192.0F);
  const Mode bf16 = half_model(DType::bf16, std::nullopt);
  const std::vector<Case> cases{
      {half,
       autocast_to(DType::f16, 64.0F),
       8192,
       "saved in fp16 with a loss scale of 8192 and continues in fp16-amp, with the same:"},
      {half, autocast_to(DType::f16, 64.0F, low), 512, "in fp16-amp, with one of 512:"},
      {half, autocast_to(DType::f16, 0x1p15F, high), 0x1p14F, "in fp16-amp, with one of 16384:"},
      {half, autocast_to(DType::f16, 64.0F, fixed), 64, "in fp16-amp, with one of 64:"},
      {half,
       bf16,
       1,
       "saved in fp16 with a loss scale of 8192 and continues in bf16, without one:"},
      {half, kFull, 1, "and continues in fp32, without one:"},
      {bf16, half, 8192, "saved in bf16 and continues in fp16, with a loss scale of 8192:"},
      {kFull,
       autocast_to(DType::f16, 64.0F, fixed),
       64,
       "saved in fp32 and continues in fp16-amp, with a loss scale of 64:"},
      {kFull, bf16, 1, "saved in fp32 and continues in bf16:"}};
  for (const Case& one : cases) {
    CAPTURE(one.line);
    const test::LogFile log;
    Program program(one.other);
    program.load(stopped_in(one.saved));
    CHECK(log.count(one.line) == 1);
    CHECK(program.control().loss_scale == one.scale);
    program.fit_until(kStopped + 1);
    CHECK(program.control().loss_scale == one.scale);
    CHECK(program.control().skipped == 0);
  }
}

TEST_CASE("a kept scale continues to grow from its value") {
  const LossScaleOptions grows{.growth_interval = 4};
  Program program(autocast_to(DType::f16, 64.0F, grows));
  program.load(stopped_in(half_model(DType::f16, 8192.0F, grows)));  // grown at 4, two clean since
  CHECK(program.control().loss_scale == 16384);
  program.fit_until(kStopped + 1);
  CHECK(program.control().loss_scale == 16384);
  Program longer(autocast_to(DType::f16, 64.0F, grows));
  longer.load(stopped_in(half_model(DType::f16, 8192.0F, grows)));
  longer.fit_until(kStopped + 2);
  CHECK(longer.control().loss_scale == 32768);
}

TEST_CASE("a precision that is set before the first fit starts its scale in that fit") {
  Program first(half_model(DType::f16, 8192.0F));
  Program second(half_model(DType::f16, 128.0F));
  test::load(second.t.ctx, first.state(), second.learn);
  second.fit_until(1);
  CHECK(second.control().loss_scale == 128);
}

TEST_CASE("bf16 ignores a scale of another precision") {
  for (const bool first_in_half : {true, false}) {
    Program program(first_in_half ? half_model(DType::f16, 8192.0F) : kFull);
    program.fit_until(2);
    to_bf16(program.learn);
    program.fit_until(4);
    CHECK(program.control().loss_scale == 1);
  }
}

TEST_CASE("a checkpoint with missing or additional callbacks is still refused") {
  const TemporaryFolder folder;
  const auto file = folder / "state.safetensors";
  const auto save = [&](Learner& l) {
    save_state(file, [&](StateVisitor& v) { l.visit_state(v); });
  };
  const auto load = [&](Learner& l) {
    (void)load_state(file, [&](StateVisitor& v) { l.visit_state(v); });
  };
  NetTraining plain;
  to_fp16(plain.learn);
  NetTraining averaged;
  averaged.learn.add<Ema>(EmaOptions{.decay = 0.9});
  save(plain.learn);
  CHECK_THROWS_WITH_AS(
      load(averaged.learn), doctest::Contains("missing in the file: 'model.ema"), CheckpointError);
  save(averaged.learn);
  CHECK_THROWS_WITH_AS(
      load(plain.learn), doctest::Contains("not used here: 'model.ema"), CheckpointError);
  NetTraining full;
  save(plain.learn);
  CHECK_NOTHROW(load(full.learn));
  save(full.learn);
  CHECK_NOTHROW(load(plain.learn));
}

TEST_CASE("precision callbacks of a fit can be changed like those of the learner") {
  const test::MemoryState state = stopped_in(half_model(DType::f16, 8192.0F));
  Program program(kFull);
  const FitCallbacks of_fit{std::make_shared<NativeMixedPrecision>()};
  test::MemoryLoader loader(state);
  program.learn.visit_state(loader, of_fit);
  CHECK(program.control().loss_scale == 8192);
  program.learn.resume();
  program.learn.fit_one_cycle(kEpochs, 0.02, {}, of_fit);
  CHECK(program.control().loss_scale == 8192);
  CHECK(program.control().step == 4 * kEpochs);
}
