#include "framework/amp/half_optimizer.h"

#include "framework/autograd/ops.h"
#include "tests/amp/small_model.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace learn;
using amp::HalfOptimizer;
using amp::HalfOptimizerOptions;

namespace {

Var loss_of(test::SmallTraining& t, int batch, double gain = 1) {
  const Var x = ops::cast(t.tape.input(t.x(batch, gain)), t.model.params->working_dtype());
  const Var pred = ops::cast((*t.model.module)(x), DType::f32);
  return ops::softmax_cross_entropy(pred, t.y(batch), 0);
}

std::vector<double> trained(const HalfOptimizerOptions& options, int batches = 6) {
  test::SmallTraining t;
  HalfOptimizer half(*t.optimizer, options);
  for (int batch = 0; batch < batches; ++batch) {
    t.begin();
    half.backward(loss_of(t, batch));
    half.step();
  }
  return t.everything();
}

std::vector<double> trained_in_f32() {
  test::SmallTraining t;
  for (int batch = 0; batch < 6; ++batch) {
    t.begin();
    t.model.params->begin_gradients();
    t.tape.backward(loss_of(t, batch));
    t.optimizer->step();
  }
  return t.everything();
}

}  // namespace

TEST_CASE("a loop with a HalfOptimizer follows f32") {
  const std::vector<double> full = trained_in_f32();
  // Values of order 1 after some ten roundings of 11 and 8 bits, six times.
  CHECK(test::distance(trained({.static_loss_scale = 128}), full) < 10 * 0x1p-11);
  CHECK(test::distance(trained({.dynamic_loss_scale = true}), full) < 10 * 0x1p-11);
  CHECK(test::distance(trained({.dtype = DType::bf16}), full) < 10 * 0x1p-8);
  CHECK(trained({.static_loss_scale = 128}) != full);
}

TEST_CASE("the constants are apex's and the model is one of halves with f32 norms") {
  const HalfOptimizerOptions options;
  CHECK(options.static_loss_scale == 1);
  CHECK_FALSE(options.dynamic_loss_scale);
  CHECK(options.scaling.growth_interval == 2000);
  CHECK(options.scaling.ceiling == 0x1p24F);
  test::SmallTraining t;
  const HalfOptimizer half(*t.optimizer, {.dynamic_loss_scale = true});
  CHECK(half.read_loss_scale() == 65536);
  CHECK(&half.optimizer() == t.optimizer.get());
  for (std::int64_t i = 0; i < t.model.params->size(); ++i)
    CHECK(is_half(t.model.params->slot(i).value.dtype()) !=
          nn::is_norm(t.model.params->info(i).role));
  CHECK_THROWS_AS(HalfOptimizer(*t.optimizer, {.dtype = DType::f32}), DTypeError);
  CHECK_THROWS_AS(HalfOptimizer(*t.optimizer, {.static_loss_scale = 0}), UsageError);
}

TEST_CASE("clip_master_grads gives the norm of f32 gradients and -1 where they overflow") {
  test::SmallTraining t(optim::sgd({.lr = 1}));
  HalfOptimizer half(*t.optimizer, {.dynamic_loss_scale = true, .init_scale = 1024});
  CHECK_THROWS_WITH_AS(half.clip_master_grads(1), doctest::Contains("call backward first"), Error);
  t.begin();
  half.backward(loss_of(t, 0));
  double sum = 0;
  for (const double g : t.values(t.model.params->flat_grad())) sum += g * g;
  const std::vector<double> before = t.weights();
  CHECK(static_cast<double>(half.clip_master_grads(0.01F)) ==
        doctest::Approx(std::sqrt(sum)).epsilon(1e-5));
  CHECK_FALSE(half.read_overflow());
  half.step();
  double moved = 0;
  const std::vector<double> after = t.weights();
  for (std::size_t i = 0; i < after.size(); ++i)
    moved += (after[i] - before[i]) * (after[i] - before[i]);
  CHECK(std::sqrt(moved) == doctest::Approx(0.01).epsilon(1e-3));

  t.begin();
  half.backward(loss_of(t, 1, 1e5));
  CHECK(half.clip_master_grads(1) == -1);
  CHECK(half.read_overflow());
  half.step();
  CHECK_FALSE(half.read_overflow());
  CHECK(t.weights() == after);
  CHECK(half.read_loss_scale() == 512);
}

TEST_CASE("several losses are one step where all but the last leave the masters alone") {
  test::SmallTraining t;
  HalfOptimizer half(*t.optimizer, {.static_loss_scale = 64});
  t.begin();
  half.backward(loss_of(t, 0), false);
  t.begin();
  half.backward(loss_of(t, 1), false);
  half.update_master_grads();
  const std::vector<double> sum = t.values(t.model.params->flat_grad());
  CHECK_THROWS_AS(half.update_master_grads(), Error);
  half.step();
  test::SmallTraining plain;
  for (const int batch : {0, 1}) {
    plain.begin();
    plain.tape.backward(loss_of(plain, batch));
  }
  // Half copies are in the order of the masters. Gradients of order 1, 11 bits.
  CHECK(test::distance(plain.values(plain.model.params->flat_grad()), sum) < 4 * 0x1p-11);
  // A loss that is given up leaves nothing.
  t.begin();
  half.backward(loss_of(t, 2), false);
  half.zero_grad();
  t.begin();
  half.backward(loss_of(t, 3));
  const std::vector<double> alone = t.values(t.model.params->flat_grad());
  half.step();
  CHECK(test::distance(alone, sum) > 0.01);
}

TEST_CASE("its state has masters and optimizer and scale and continues to the same bits") {
  const HalfOptimizerOptions options{
      .dynamic_loss_scale = true, .init_scale = 64, .scaling = {.growth_interval = 2}};
  test::SmallTraining whole;
  test::SmallTraining resumed;
  HalfOptimizer first(*whole.optimizer, options);
  HalfOptimizer second(*resumed.optimizer, options);
  for (int batch = 0; batch < 6; ++batch) {
    if (batch == 3) test::load(resumed.ctx, test::save(whole.ctx, first), second);
    whole.begin();
    first.backward(loss_of(whole, batch));
    first.step();
    if (batch < 3) continue;
    resumed.begin();
    second.backward(loss_of(resumed, batch));
    second.step();
    CHECK(resumed.everything() == whole.everything());
    CHECK(second.read_loss_scale() == first.read_loss_scale());
  }
  CHECK(first.read_loss_scale() == 512);
}
