// A training whose weights are lengths and directions, in every precision.
#include "callbacks/ema.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "tests/callbacks/net_training.h"
#include "tests/support/memory_state.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace tiny;
using namespace learn::callbacks;

namespace {

class NormalizedNet final : public nn::Module {
 public:
  explicit NormalizedNet(const nn::Scope& scope)
      : Module(scope),
        first_(scope / "first", kFeatures, 8, {.weight_norm = true}),
        last_(scope / "last", 8, kFeatures, {.weight_norm = true}) {}
  [[nodiscard]] std::string describe() const override { return "NormalizedNet"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return last_(first_(x)); }

 private:
  nn::Linear first_, last_;
};

struct Mode {
  std::string name;
  std::function<void(Learner&)> set;
  double unit;  ///< rounding of the half, 0 for none
};

const std::vector<Mode> kModes{
    {"fp32", [](Learner&) {}, 0},
    {"fp16", [](Learner& l) { to_fp16(l, {.loss_scale = 64.0F}); }, 0x1p-11},
    {"bf16", [](Learner& l) { to_bf16(l); }, 0x1p-8},
    {"fp16-amp", [](Learner& l) { to_native_fp16(l, {.loss_scale = 64.0F}); }, 0x1p-11},
    {"bf16-amp", [](Learner& l) { to_native_bf16(l); }, 0x1p-8}};

constexpr std::int64_t kEpochs = 3;
constexpr float kRate = 0.02F;

struct Program {
  explicit Program(const Mode& mode)
      : t({4, 4, 4},
          {4},
          with_momentum(),
          nn::make_model<NormalizedNet>("net", {kFeatures}, static_cast<int>(kFeatures))) {
    mode.set(t.learn);
    t.learn.add<Ema>(EmaOptions{.decay = 0.9});
  }
  Training t;
};

}  // namespace

TEST_CASE("weight norm: every precision trains it as f32 does, with one master per weight") {
  Program full(kModes.front());
  const std::vector<double> initial = values(full.t.learn.params().flat_master());
  full.t.learn.fit(kEpochs, kRate);
  const std::vector<double> trained = values(full.t.learn.params().flat_master());
  const double way = distance(trained, initial);
  CHECK(way > 0.01);
  for (const Mode& mode : kModes) {
    CAPTURE(mode.name);
    Program program(mode);
    Learner& learn = program.t.learn;
    learn.fit(kEpochs, kRate);
    check_one_source_of_truth(learn);
    // Nine steps of gradients that were rounded in two layers and a loss.
    CHECK(distance(values(learn.params().flat_master()), trained) <= 16 * mode.unit * way);
  }
}

TEST_CASE("weight norm: a skipped step leaves lengths and directions alone") {
  for (const Mode& mode : {kModes[1], kModes[3]}) {
    CAPTURE(mode.name);
    Program program(mode);
    Learner& learn = program.t.learn;
    const Snapshot before(learn);
    program.t.train.gain_of_batch = [](std::size_t) {
      return std::numeric_limits<double>::infinity();
    };
    on(learn, Event::batch_end, [](Learner& l) { l.cancel(Scope::train); });
    learn.fit(1, kRate);
    CHECK(learn.optimizer().read_control().skipped == 1);
    CHECK(values(learn.params().flat_master()) == before.masters);
  }
}

TEST_CASE("weight norm: a training that was stopped continues to the same bits") {
  for (const Mode& mode : kModes) {
    CAPTURE(mode.name);
    Program whole(mode);
    whole.t.learn.fit(kEpochs, kRate);
    Program stopped(mode);
    on(stopped.t.learn, Event::batch_end, [](Learner& l) {
      if (l.progress().training && l.progress().batch_clock == 4) l.cancel(Scope::train);
    });
    stopped.t.learn.fit(kEpochs, kRate);
    const test::MemoryState state = test::save(stopped.t.ctx, stopped.t.learn);
    CHECK(state.tensors.contains("model.params.first.weight_g"));
    CHECK(state.tensors.contains("model.params.first.weight_v"));
    Program resumed(mode);
    test::load(resumed.t.ctx, state, resumed.t.learn);
    resumed.t.learn.resume();
    resumed.t.learn.fit(kEpochs, kRate);
    const test::MemoryState got = test::save(resumed.t.ctx, resumed.t.learn);
    const test::MemoryState want = test::save(whole.t.ctx, whole.t.learn);
    REQUIRE(got.tensors.size() == want.tensors.size());
    for (const auto& tensor : want.tensors) {
      CAPTURE(tensor.first);
      CHECK(same_bits(got.tensors.at(tensor.first), tensor.second).equal);
    }
  }
}
