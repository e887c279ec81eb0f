#include "framework/amp/initialize.h"

#include "tests/amp/small_model.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace learn;

namespace {

std::vector<double> trained(std::string_view level, const amp::AmpOptions& options = {}) {
  test::SmallTraining t;
  amp::Amp amp = amp::initialize(t.model, *t.optimizer, level, options);
  for (int batch = 0; batch < 6; ++batch) {
    t.begin();
    const Var pred = amp.forward(t.tape, t.x(batch));
    CHECK(pred.dtype() == DType::f32);
    CHECK_FALSE(t.tape.autocast());
    amp.backward(ops::softmax_cross_entropy(pred, t.y(batch), 0));
    amp.step();
  }
  CHECK(t.optimizer->read_control().step == 6);
  return t.everything();
}

}  // namespace

TEST_CASE("every opt level trains and O0 is f32 to the bit") {
  const std::vector<double> full = [] {
    test::SmallTraining t;
    for (int batch = 0; batch < 6; ++batch) {
      t.begin();
      t.model.params->begin_gradients();
      t.tape.backward(
          ops::softmax_cross_entropy((*t.model.module)(t.tape.input(t.x(batch))), t.y(batch), 0));
      t.optimizer->step();
    }
    return t.everything();
  }();
  CHECK(trained("O0") == full);
  for (const char* const level : {"O1", "O2"}) {
    CAPTURE(level);
    const std::vector<double> half = trained(level);
    CHECK(half != full);
    // Values of order 1 after some ten roundings of 11 and 8 bits, six times.
    CHECK(test::distance(half, full) < 10 * 0x1p-11);
    CHECK(test::distance(trained(level, {.dtype = DType::bf16}), full) < 10 * 0x1p-8);
    CHECK(trained(level, {.loss_scale = 1024.0F}) != full);
  }
  const std::vector<double> pure = trained("O3");
  CHECK(test::distance(pure, full) < 20 * 0x1p-11);  // and each update is rounded, too
  CHECK(test::distance(pure, full) > test::distance(trained("O2"), full));
  CHECK(test::distance(trained("O3", {.dtype = DType::bf16}), full) < 20 * 0x1p-8);
  // Rounded masters are what autocast makes of f32 weights, and this net has no operation whose
  // rule is another than a half model's.
  CHECK(trained("O1") == trained("O2"));
}

TEST_CASE("an opt level says what the model is and how its loss is scaled") {
  test::SmallTraining t;
  const auto dtype_of = [&](std::string_view level, const amp::AmpOptions& options) {
    const amp::Amp amp = amp::initialize(t.model, *t.optimizer, level, options);
    CHECK(amp.level().name == level);
    return t.model.params->working_dtype();
  };
  CHECK(dtype_of("O2", {}) == DType::f16);
  CHECK(dtype_of("O1", {}) == DType::f32);
  CHECK(dtype_of("O2", {.dtype = DType::bf16}) == DType::bf16);
  CHECK(t.model.params->master_dtype() == DType::f32);
  CHECK(dtype_of("O3", {}) == DType::f16);
  CHECK(t.model.params->master_dtype() == DType::f16);
  CHECK(dtype_of("O0", {}) == DType::f32);
  CHECK(t.model.params->master_dtype() == DType::f32);
  const auto scale_of = [&](std::string_view level, const amp::AmpOptions& options) {
    amp::Amp amp = amp::initialize(t.model, *t.optimizer, level, options);
    CHECK(&amp.optimizer() == t.optimizer.get());
    return amp.scaler().enabled() ? static_cast<double>(amp.scaler().read_scale()) : 0;
  };
  CHECK(scale_of("O0", {}) == 0);
  CHECK(scale_of("O1", {}) == 65536);
  CHECK(scale_of("O2", {}) == 65536);
  CHECK(scale_of("O2", {.dtype = DType::bf16}) == 0);
  CHECK(scale_of("O3", {}) == 0);
  CHECK(scale_of("O1", {.loss_scale = 512.0F}) == 512);
}

TEST_CASE("gradients can be read between backward and step") {
  test::SmallTraining t;
  amp::Amp amp = amp::initialize(t.model, *t.optimizer, "O1");
  t.begin();
  amp.backward(ops::softmax_cross_entropy(amp.forward(t.tape, t.x(0)), t.y(0), 0));
  amp.unscale();
  double largest = 0;
  for (const double g : t.values(t.model.params->flat_grad())) largest = std::max(largest, g);
  CHECK(largest > 0);
  CHECK(largest < 10);
  amp.step();
}

TEST_CASE("unsupported uses of amp are refused") {
  test::SmallTraining t;
  CHECK_THROWS_WITH_AS((void)amp::initialize(t.model, *t.optimizer, "O4"),
                       doctest::Contains("unknown opt level 'O4'"),
                       UsageError);
  CHECK_THROWS_AS((void)amp::initialize(t.model, *t.optimizer, "O1", {.dtype = DType::f32}),
                  DTypeError);
  CHECK_THROWS_WITH_AS((void)amp::initialize(t.model, *t.optimizer, "O3", {.loss_scale = 8.0F}),
                       doctest::Contains("O3 has no f32 gradients"),
                       UsageError);
  CHECK(t.model.params->working_dtype() == DType::f32);
  test::SmallTraining other;
  CHECK_THROWS_WITH_AS((void)amp::initialize(t.model, *other.optimizer, "O1"),
                       doctest::Contains("does not update the model 'small net'"),
                       UsageError);
}
