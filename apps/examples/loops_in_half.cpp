// Loops of one's own in half precision, without a Learner: which of three spirals is a point on?
//
// The same net four times, with the same data: in f32, by autocast and a GradScaler, as a half
// model with a HalfOptimizer, and by amp::initialize. All of them come to the same accuracy.
#include "framework/amp/grad_scaler.h"
#include "framework/amp/half_optimizer.h"
#include "framework/amp/initialize.h"
#include "framework/autograd/autocast.h"
#include "framework/autograd/ops/activation.h"
#include "framework/autograd/ops/elementwise.h"
#include "framework/autograd/ops/loss.h"
#include "framework/core/random.h"
#include "framework/nn/layers.h"
#include "framework/optim/adam.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

using namespace learn;

namespace {

class SpiralNet final : public nn::Module {
 public:
  explicit SpiralNet(const nn::Scope& scope)
      : Module(scope),
        first_(scope / "first", 2, 64),
        second_(scope / "second", 64, 64),
        last_(scope / "last", 64, 3) {}
  std::string describe() const override { return "SpiralNet"; }

 protected:
  Var forward(const Var& x) override { return last_(ops::relu(second_(ops::relu(first_(x))))); }

 private:
  nn::Linear first_, second_, last_;
};

constexpr int kPoints = 96;  // of a batch
constexpr int kBatches = 400;

struct Batch {
  Tensor x, y;
};

/// Points along three arms, a little beside them.
Batch spirals(Context& ctx, std::uint64_t number) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (int i = 0; i < kPoints; ++i) {
    const Random4 draw = random4(1, RandomPurpose::test, number, static_cast<std::uint64_t>(i));
    const float radius = uniform01(draw.v[0]);
    const float angle = 2.1F * static_cast<float>(i % 3) + 4 * radius + 0.3F * uniform01(draw.v[1]);
    x.insert(x.end(), {radius * std::cos(angle), radius * std::sin(angle)});
    y.push_back(i % 3);
  }
  return {to_device(ctx, ctx.step(), host_tensor<float>({kPoints, 2}, x)),
          to_device(ctx, ctx.step(), host_tensor<std::int64_t>({kPoints}, y))};
}

/// What a way of training needs, and one batch of it.
struct Training {
  Context& ctx;
  nn::Model model = nn::make_model<SpiralNet>("spirals", Shape{2}, 3);
  std::unique_ptr<optim::Optimizer> optimizer;
  Tape tape{ctx};

  explicit Training(Context& context) : ctx(context) {
    model.params->materialize(ctx);
    optimizer = optim::adam({.lr = 0.01F})(*model.params);
  }
  Var forward(const Tensor& x) { return (*model.module)(tape.input(x)); }
};

double accuracy(Training& t) {
  t.model.params->set_working_dtype(DType::f32);
  const Batch batch = spirals(t.ctx, kBatches);
  t.tape.reset({.mode = ForwardMode::eval, .grad = false});
  const Tensor pred = to_host(t.ctx, t.forward(batch.x).value());
  int right = 0;
  for (int i = 0; i < kPoints; ++i) {
    const auto row = pred.span<float>().subspan(static_cast<std::size_t>(i) * 3, 3);
    right += std::max_element(row.begin(), row.end()) - row.begin() == i % 3 ? 1 : 0;
  }
  return static_cast<double>(right) / kPoints;
}

void in_f32(Training& t) {
  for (int i = 0; i < kBatches; ++i) {
    const auto [x, y] = spirals(t.ctx, static_cast<std::uint64_t>(i));
    t.tape.reset();
    t.model.params->begin_gradients();
    t.tape.backward(ops::softmax_cross_entropy(t.forward(x), y, 0));
    t.optimizer->step();
  }
}

void by_autocast(Training& t) {
  amp::GradScaler scaler(t.ctx);
  for (int i = 0; i < kBatches; ++i) {
    const auto [x, y] = spirals(t.ctx, static_cast<std::uint64_t>(i));
    t.tape.reset();
    const AutocastRegion region(t.tape, DType::f16);
    t.tape.backward(scaler.scale(ops::softmax_cross_entropy(t.forward(x), y, 0)));
    scaler.step(*t.optimizer);
    scaler.update();
  }
}

void as_half_model(Training& t) {
  amp::HalfOptimizer half(*t.optimizer, {.dynamic_loss_scale = true});
  for (int i = 0; i < kBatches; ++i) {
    const auto [x, y] = spirals(t.ctx, static_cast<std::uint64_t>(i));
    t.tape.reset();
    const Var pred = (*t.model.module)(ops::cast(t.tape.input(x), DType::f16));
    half.backward(ops::softmax_cross_entropy(pred, y, 0));
    half.clip_master_grads(1);
    half.step();
  }
}

void by_opt_level(Training& t, std::string_view level) {
  amp::Amp amp = amp::initialize(t.model, *t.optimizer, level);
  for (int i = 0; i < kBatches; ++i) {
    const auto [x, y] = spirals(t.ctx, static_cast<std::uint64_t>(i));
    t.tape.reset();
    amp.backward(ops::softmax_cross_entropy(amp.forward(t.tape, x), y, 0));
    amp.step();
  }
}

void report(Context& ctx, std::string_view way, const std::function<void(Training&)>& train) {
  Training training(ctx);
  train(training);
  fmt::print("{:<16} {:.3f}\n", way, accuracy(training));
}

}  // namespace

int main() {
  Context ctx;
  report(ctx, "f32", in_f32);
  report(ctx, "autocast", by_autocast);
  report(ctx, "half optimizer", as_half_model);
  for (const amp::OptLevel& level : amp::kOptLevels)
    report(ctx, level.name, [&](Training& t) { by_opt_level(t, level.name); });
}
