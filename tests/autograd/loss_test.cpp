#include "framework/autograd/ops.h"
#include "framework/kernels/loss/softmax_cross_entropy.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"
#include "tests/support/on_device.h"
#include "tests/support/op_case.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace learn;
using test::OpCase;
using test::OpInput;

namespace {

OpCase label_case(std::int64_t samples, std::int64_t classes, float smoothing) {
  OpInput labels{
      .name = "target", .shape = {samples}, .role = OpInput::Role::constant, .dtype = DType::i64};
  for (std::int64_t n = 0; n < samples; ++n)
    labels.values.push_back(static_cast<double>((n * 7 + 3) % classes));
  return {.name = fmt::format("cross-entropy ({},{}) smoothing {}", samples, classes, smoothing),
          .inputs = {{.name = "logits", .shape = {samples, classes}, .low = -4, .high = 4}, labels},
          .call =
              [=](Tape&, std::span<const Var> in) {
                return ops::softmax_cross_entropy(in[0], in[1].value(), smoothing);
              },
          .reduction = samples * classes,
          .units = 4};
}

OpCase soft_case(std::int64_t samples, std::int64_t classes, float smoothing) {
  return {.name = fmt::format("cross-entropy of soft targets ({},{})", samples, classes),
          .inputs = {{.name = "logits", .shape = {samples, classes}, .low = -4, .high = 4},
                     // Not a distribution on purpose: the weights need not add up to one.
                     {.name = "target",
                      .shape = {samples, classes},
                      .low = 0,
                      .high = 1,
                      .role = OpInput::Role::constant,
                      .full_precision = true}},
          .call =
              [=](Tape&, std::span<const Var> in) {
                return ops::softmax_cross_entropy(in[0], in[1].value(), smoothing);
              },
          .reduction = samples * classes,
          .units = 4};
}

OpCase mse_case(const Shape& shape, bool wide_target) {
  return {.name = fmt::format("mse {}", shape),
          .inputs = {{.name = "pred", .shape = shape},
                     {.name = "target",
                      .shape = shape,
                      .role = OpInput::Role::constant,
                      .full_precision = wide_target}},
          .call = [](Tape&, std::span<const Var> in) { return ops::mse(in[0], in[1].value()); },
          .reduction = shape.elements(),
          .units = 4};
}

double loss_of(Context& ctx, const Tensor& logits, const Tensor& target, float smoothing = 0) {
  Tape tape(ctx);
  const Var loss = ops::softmax_cross_entropy(tape.input(logits), target, smoothing);
  return test::fetch(ctx, loss.value(), 0);
}

}  // namespace

TEST_CASE("cross-entropy of classes, with and without smoothing") {
  for (const float smoothing : {0.0F, 0.1F, 1.0F}) {
    test::test_op(label_case(5, 10, smoothing));
    test::test_op(label_case(1, 2, smoothing));
    test::test_op(label_case(3, 37, smoothing));
    test::test_op(label_case(4, 1, smoothing));
  }
  test::test_op(label_case(40, 1000, 0.1F));
}

TEST_CASE("cross-entropy of soft targets") {
  test::test_op(soft_case(6, 10, 0));
  test::test_op(soft_case(3, 21, 0.2F));
}

TEST_CASE("mean squared error, target in the prediction's type or wide") {
  test::test_op(mse_case({3, 5}, false));
  test::test_op(mse_case({2, 3, 7}, true));
  test::test_op(mse_case({70, 500}, true));
}

TEST_CASE("cross-entropy of logits that would overflow an exponential") {
  for (const bool reference : {false, true}) {
    if (reference && test::testing_cuda()) continue;
    Context ctx(reference ? ContextOptions{.threads = 1, .reference = true}
                          : test::fast_context(1));
    const auto logits = [&](const std::vector<double>& values) {
      return test::put_values(ctx, {1, 3}, values);
    };
    const Tensor first = test::put_full(ctx, {1}, DType::i64, 0);
    CHECK(loss_of(ctx, logits({1000, 999, -1000}), first) ==
          doctest::Approx(std::log1p(std::exp(-1))));
    CHECK(loss_of(ctx, logits({-1000, 1000, 0}), first) == doctest::Approx(2000));
    const double inf = std::numeric_limits<double>::infinity();
    CHECK(loss_of(ctx, logits({0, 0, -inf}), first) == doctest::Approx(std::log(2)));
    CHECK(std::isnan(loss_of(ctx, logits({0, NAN, 1}), first)));
    CHECK(std::isnan(loss_of(ctx, logits({NAN, 0, 1}), first)));
  }
}

TEST_CASE("a class out of range names sample, class and range") {
  Context ctx(test::fast_context(1));
  const Tensor logits = test::put_full(ctx, {3, 4}, DType::f32, 0);
  for (const double wrong : {4.0, -1.0, -100.0}) {
    const Tensor target = test::put_values(ctx, {3}, {0, wrong, 1}, DType::i64);
    CHECK_THROWS_WITH_AS(loss_of(ctx, logits, target), doctest::Contains("sample 1"), DataError);
    CHECK_THROWS_WITH_AS(loss_of(ctx, logits, target),
                         doctest::Contains(fmt::format("class {}", wrong).c_str()),
                         DataError);
    CHECK_THROWS_WITH_AS(loss_of(ctx, logits, target), doctest::Contains("0 to 3"), DataError);
  }
  const Tensor right = test::put_values(ctx, {3}, {0, 3, 1}, DType::i64);
  CHECK(loss_of(ctx, logits, right) == doctest::Approx(std::log(4)));
}

TEST_CASE("losses of operands that do not fit") {
  Context ctx({.threads = 1});
  const auto make = [&](const Shape& shape, DType dtype = DType::f32) {
    return full(ctx.step(), shape, dtype, 0);
  };
  CHECK_THROWS_WITH_AS(
      loss_of(ctx, make({0, 4}), make({0}, DType::i64)), doctest::Contains("(0,4)"), ShapeError);
  CHECK_THROWS_WITH_AS(
      loss_of(ctx, make({3, 4}), make({2}, DType::i64)), doctest::Contains("(2)"), ShapeError);
  CHECK_THROWS_WITH_AS(
      loss_of(ctx, make({3, 4}), make({3, 5})), doctest::Contains("(3,5)"), ShapeError);
  CHECK_THROWS_WITH_AS(
      loss_of(ctx, make({3, 4}), make({3, 4}, DType::i32)), doctest::Contains("i32"), DTypeError);
  CHECK_THROWS_WITH_AS(loss_of(ctx, make({3, 4}), make({3}, DType::i64), 1.5F),
                       doctest::Contains("1.5"),
                       UsageError);
  CHECK_THROWS_AS(loss_of(ctx, make({3, 4}), make({3}, DType::i64), NAN), UsageError);
  Tape tape(ctx);
  CHECK_THROWS_WITH_AS(
      (void)ops::mse(tape.input(make({3})), make({4})), doctest::Contains("(4)"), ShapeError);
  CHECK_THROWS_AS((void)ops::mse(tape.input(make({0})), make({0})), ShapeError);
}

TEST_CASE("softmax gives probabilities") {
  for (const bool reference : {false, true})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      if (reference && test::testing_cuda()) continue;
      Context ctx(reference ? test::guarded(2, true) : test::fast_context(2));
      Arena& host = test::host_values();
      const Tensor logits = uniform(host, {7, 19}, dtype, -5, 5, test::test_seed());
      Tensor probabilities = ctx.empty({7, 19}, DType::f32);
      kernels::softmax(ctx, test::put(ctx, logits), probabilities);
      const Tensor p = to_host(ctx, probabilities);
      for (std::int64_t n = 0; n < 7; ++n) {
        double sum = 0;
        for (std::int64_t c = 0; c < 19; ++c) sum += std::exp(get(logits, n * 19 + c));
        for (std::int64_t c = 0; c < 19; ++c)
          CHECK(get(p, n * 19 + c) ==
                doctest::Approx(std::exp(get(logits, n * 19 + c)) / sum).epsilon(1e-6));
      }
    }
}
