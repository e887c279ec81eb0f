// Whatever a user does one after the other, what must hold of weights, copies and clocks holds.
#include "callbacks/ema.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/precision/pure_half.h"
#include "framework/core/dtype.h"
#include "framework/learner/history/recorder.h"
#include "framework/optim/adam.h"
#include "framework/tensor/factory.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// Two layers, so that a part of the net can be frozen.
class TwoScales final : public nn::Module {
 public:
  explicit TwoScales(const nn::Scope& scope)
      : Module(scope), first_(scope / "first", 0.5), second_(scope / "second", 0.7) {}
  [[nodiscard]] std::string describe() const override { return "TwoScales"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return second_(first_(x)); }

 private:
  Scale first_, second_;
};

double rounded(double exact, DType dtype) {
  const auto value = static_cast<float>(exact);
  if (dtype == DType::f16) return static_cast<double>(to_float(to_half(value)));
  if (dtype == DType::bf16) return static_cast<double>(to_float(to_bfloat16(value)));
  return exact;
}

/// That what the model computes with are the rounded masters.
void check_copies(Learner& learn) {
  const nn::ParamStore& params = learn.params();
  for (std::int64_t i = 0; i < params.size(); ++i) {
    const Tensor& used = params.slot(i).value;
    const Tensor master = params.master(i);
    for (std::int64_t e = 0; e < master.elements(); ++e)
      REQUIRE(get(used, e) == rounded(get(master, e), used.dtype()));
  }
}

/// Counts batches, looks at the weights at each, and cancels a scope on request.
class Watch final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "watch"; }
  [[nodiscard]] int order() const override { return 1000; }
  void batch_begin(Learner& learn) override { check_copies(learn); }
  void backward_begin(Learner& learn) override {
    if (scope == Scope::batch) cancel_here(learn);
  }
  void step_begin(Learner& learn) override {
    if (scope == Scope::step) cancel_here(learn);
  }
  void batch_end(Learner& learn) override {
    check_copies(learn);
    if (!learn.progress().training) return;
    if (scope == Scope::epoch || scope == Scope::train) cancel_here(learn);
    ++batches;
    --left;
  }

  Scope scope = Scope::train;
  std::int64_t left = -1;  ///< batches before the one that it cancels in; negative: in none
  std::int64_t batches = 0;

 private:
  void cancel_here(Learner& learn) {
    if (left == 0) learn.cancel(scope);
  }
};

constexpr std::int64_t kEpochs = 2;
const std::vector<std::int64_t> kTrain{2, 3, 2, 1};

enum class Precision : std::uint8_t { fp32, fp16, bf16, fp16_amp, bf16_amp, pure_fp16, pure_bf16 };
constexpr std::array kPrecisions{Precision::fp32,
                                 Precision::fp16,
                                 Precision::bf16,
                                 Precision::fp16_amp,
                                 Precision::bf16_amp,
                                 Precision::pure_fp16,
                                 Precision::pure_bf16};
constexpr std::array kPrecisionNames{
    "fp32", "fp16", "bf16", "fp16-amp", "bf16-amp", "pure-fp16", "pure-bf16"};

void set_precision(Learner& learn, Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return to_fp32(learn);
    case Precision::fp16:
      return void(to_fp16(learn, {.loss_scale = 64.0F}));
    case Precision::bf16:
      return void(to_bf16(learn));
    case Precision::fp16_amp:
      return void(to_native_fp16(learn, {.loss_scale = 64.0F}));
    case Precision::bf16_amp:
      return void(to_native_bf16(learn));
    case Precision::pure_fp16:
      return void(to_pure_fp16(learn));
    case Precision::pure_bf16:
      return void(to_pure_bf16(learn));
  }
}

/// A learner and what has been done to it.
class Subject {
 public:
  explicit Subject(Precision precision)
      : precision_(precision),
        t_(kTrain,
           {2},
           with_adam(),
           nn::make_model<TwoScales>("two", {kFeatures}, static_cast<int>(kFeatures))) {
    t_.learn.split({"second"});
    set_precision(t_.learn, precision);
    t_.learn.add<Recorder>();
    t_.learn.add<Ema>(EmaOptions{.decay = 0.9});
    watch_ = &t_.learn.add<Watch>();
  }
  static LearnerOptions with_adam() {
    LearnerOptions options;
    options.optimizer = optim::adam();
    return options;
  }

  [[nodiscard]] Learner& learn() { return t_.learn; }
  [[nodiscard]] bool frozen() const { return frozen_; }
  void freeze(bool frozen) {
    frozen_ = frozen;
    frozen ? t_.learn.freeze() : t_.learn.unfreeze();
  }
  /// In a half model, its second layer stays f32, or does not.
  [[nodiscard]] bool keeps() const { return keeps_; }
  void keep(bool keeps) {
    keeps_ = keeps;
    t_.learn.keep_f32(keeps ? std::vector<std::string>{"second"} : std::vector<std::string>{});
  }
  /// The learner continues in another precision.
  void change(Precision precision) {
    precision_ = precision;
    set_precision(t_.learn, precision);
  }
  void fit(std::int64_t epochs) { t_.learn.fit(epochs, 0.01); }
  /// Cancels `scope` in a training batch of the next fit.
  void cancel_in(Scope scope, std::int64_t batch) {
    watch_->scope = scope;
    watch_->left = batch;
  }

  [[nodiscard]] test::MemoryState state() { return test::save(t_.ctx, t_.learn); }
  /// Another learner in its state.
  [[nodiscard]] std::unique_ptr<Subject> reloaded() { return heir(precision_); }
  /// Another learner in its state and in another precision.
  [[nodiscard]] std::unique_ptr<Subject> heir(Precision precision) {
    auto other = std::make_unique<Subject>(precision);
    other->freeze(frozen_);
    other->keep(keeps_);
    test::load(other->t_.ctx, state(), other->t_.learn);
    other->watch_->batches = watch_->batches;
    return other;
  }
  /// Weights that are not trained, bit for bit.
  [[nodiscard]] std::vector<double> untrained() {
    std::vector<double> out;
    for (std::int64_t i = 0; i < t_.learn.params().size(); ++i)
      if (!t_.learn.params().slot(i).trainable)
        for (const double v : values(t_.learn.params().master(i))) out.push_back(v);
    return out;
  }
  /// Invariants while it does not run.
  void check_idle() {
    const FitProgress& fit = t_.learn.progress();
    REQUIRE(fit.activity == Activity::none);
    REQUIRE_FALSE(fit.gradients_held);
    REQUIRE_FALSE(t_.learn.batch().pred.defined());
    REQUIRE(fit.batch_clock == watch_->batches);
    REQUIRE(fit.step_clock == t_.learn.optimizer().read_control().step);
    for (std::int64_t i = 0; i < t_.learn.params().size(); ++i)
      REQUIRE(t_.learn.params().slot(i).value.dtype() == DType::f32);
    check_copies(t_.learn);
    REQUIRE(values(t_.learn.params().flat_buffers()) ==
            values(t_.learn.params().flat_committed_buffers()));
  }

 private:
  Precision precision_;
  bool frozen_ = false;
  bool keeps_ = false;
  Training t_;
  Watch* watch_ = nullptr;
};

/// All of a state but times.
std::map<std::string, std::vector<double>> bits_of(const test::MemoryState& state) {
  std::map<std::string, std::vector<double>> out;
  for (const auto& [name, tensor] : state.tensors)
    if (name != "callbacks.recorder.epochs.table") out[name] = values(tensor);
  for (const auto& [name, value] : state.integers) out[name] = {static_cast<double>(value)};
  for (const auto& [name, value] : state.reals)
    if (name != "callbacks.recorder.cut_seconds" && !std::isnan(value)) out[name] = {value};
  return out;
}

/// Names of what differs.
std::string difference(const test::MemoryState& a, const test::MemoryState& b) {
  const auto mine = bits_of(a);
  const auto theirs = bits_of(b);
  std::string names = mine.size() == theirs.size() ? "" : "something is missing";
  for (const auto& [name, numbers] : mine)
    if (const auto found = theirs.find(name); found == theirs.end() || found->second != numbers)
      names += " " + name;
  return names;
}

/// Does things at random, and says which.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed)
      : random_(seed), subject_(std::make_unique<Subject>(Precision::fp32)) {}

  void step() {
    const std::vector<double> untrained = subject_->untrained();
    const std::int64_t epochs = subject_->learn().progress().epoch_clock;
    switch (draw(8)) {
      case 0:
        said += " fit";
        subject_->fit(1);
        REQUIRE(subject_->untrained() == untrained);
        REQUIRE(subject_->learn().progress().epoch_clock == epochs + 1);
        break;
      case 1:
        cut_fit();
        REQUIRE(subject_->untrained() == untrained);
        break;
      case 2:
        said += subject_->frozen() ? " unfreeze" : " freeze";
        subject_->freeze(!subject_->frozen());
        break;
      case 3:
        change_precision();
        break;
      case 4:
        compare_with_reloaded();
        break;
      case 5:
        compare_resumed();
        break;
      case 6:
        said += subject_->keeps() ? " cast-all" : " keep-f32";
        subject_->keep(!subject_->keeps());
        break;
      default:
        validate();
    }
    subject_->check_idle();
  }

  std::string said;

 private:
  std::int64_t draw(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }
  std::int64_t any_batch() { return draw(kEpochs * static_cast<std::int64_t>(kTrain.size()) - 1); }

  void cut_fit() {
    const Scope scope = std::array{Scope::train, Scope::epoch, Scope::batch, Scope::step}.at(
        static_cast<std::size_t>(draw(4)));
    const std::int64_t batch = any_batch();
    said += fmt::format(" cancel({})@{}", name_of(scope), batch);
    subject_->cancel_in(scope, batch);
    const std::int64_t steps = subject_->learn().progress().step_clock;
    subject_->fit(kEpochs);
    const FitProgress& fit = subject_->learn().progress();
    // In the two epochs: one without an update, all batches up to this one, or some more.
    const std::int64_t made = fit.step_clock - steps;
    if (scope == Scope::batch || scope == Scope::step) REQUIRE(made == 7);
    if (scope == Scope::train) REQUIRE(made == batch + 1);
    if (scope == Scope::epoch) REQUIRE(made == (batch < 4 ? batch + 5 : batch + 1));
  }

  void change_precision() {
    const auto next = static_cast<std::size_t>(draw(5));
    const bool by_state = draw(2) == 0;
    said += fmt::format(" {}{}", kPrecisionNames.at(next), by_state ? "(state)" : "");
    const test::MemoryState before = subject_->state();
    if (by_state)
      subject_ = subject_->heir(kPrecisions.at(next));
    else
      subject_->change(kPrecisions.at(next));
    // Masters, moments, averages, statistics, history, clocks: all but what scales the loss.
    std::string rest = difference(before, subject_->state());
    for (const char* const scaling : {" optimizer.loss_scale",
                                      " optimizer.inverse_scale",
                                      " optimizer.clean_steps",
                                      " precision.scale_set"})
      if (const std::size_t at = rest.find(scaling); at != std::string::npos)
        rest.erase(at, std::string_view(scaling).size());
    REQUIRE(rest == "");
  }

  /// A loaded learner continues as the saved one, so the state is complete.
  void compare_with_reloaded() {
    said += " reloaded";
    const auto reloaded = subject_->reloaded();
    subject_->fit(1);
    reloaded->fit(1);
    REQUIRE(difference(reloaded->state(), subject_->state()) == "");
  }

  /// A fit that is stopped, saved, loaded and resumed is the same as one that is not.
  void compare_resumed() {
    const std::int64_t batch = any_batch();
    said += fmt::format(" resume@{}", batch);
    const auto stopped = subject_->reloaded();
    subject_->fit(kEpochs);
    stopped->cancel_in(Scope::train, batch);
    stopped->fit(kEpochs);
    auto resumed = stopped->reloaded();
    resumed->learn().resume();
    resumed->fit(kEpochs);
    REQUIRE(difference(resumed->state(), subject_->state()) == "");
    subject_ = std::move(resumed);
  }

  void validate() {
    said += " validate";
    const test::MemoryState before = subject_->state();
    subject_->learn().validate();
    REQUIRE(difference(before, subject_->state()) == "");
  }

  std::mt19937_64 random_;
  std::unique_ptr<Subject> subject_;
};

}  // namespace

// LEARN_TEST_SEED=N tries the sequences of another seed.
TEST_CASE("fit, freeze, keep f32, change precision, save, load, resume and cancel in any order") {
  const char* const given = std::getenv("LEARN_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  for (std::uint64_t sequence = 0; sequence < 16; ++sequence) {
    Sequence one(seed * 1000 + sequence);
    for (int i = 0; i < 12; ++i) {
      CAPTURE(seed);
      CAPTURE(sequence);
      CAPTURE(one.said);
      one.step();
    }
  }
}
