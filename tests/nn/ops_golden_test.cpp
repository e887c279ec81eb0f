#include "framework/autograd/ops.h"
#include "framework/nn/loss.h"
#include "framework/tensor/convert.h"
#include "tests/golden/ops_values.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

using namespace learn;

namespace {

using Vars = std::vector<Var>;

/// The last inputs, which have no gradient, as tensors.
using Run = std::function<Var(const Vars&)>;

Run loss_of(const nn::Loss& loss) {
  return [loss](const Vars& in) { return loss.fn(in[0], in[1].value()); };
}

/// Losses whose weights are the third input.
template <class Make>
Run weighted(Make make) {
  return [make](const Vars& in) { return make(in[2].value()).fn(in[0], in[1].value()); };
}

const std::map<std::string_view, Run>& runs() {
  const auto unary = [](auto f) { return [f](const Vars& in) { return f(in[0]); }; };
  const auto binary = [](auto f) { return [f](const Vars& in) { return f(in[0], in[1]); }; };
  const auto pow = [](double e) { return [e](const Vars& in) { return ops::pow(in[0], e); }; };
  const auto log1p_of = [](const Expr& x) { return log1p(x); };
  const auto where_less = [](const Expr& x, const Expr& y) { return select(x < y, x * y, x); };
  static const std::map<std::string_view, Run> all{
      {"sub", binary(ops::sub)},
      {"div", binary(ops::div)},
      {"mul", binary(ops::mul)},
      {"pow", [](const Vars& in) { return ops::pow(in[0], in[1]); }},
      {"pow 0", pow(0)},
      {"pow 0.5", pow(0.5)},
      {"pow 1", pow(1)},
      {"pow 2", pow(2)},
      {"pow 3", pow(3)},
      {"pow -1", pow(-1)},
      {"pow 1.75", pow(1.75)},
      {"minimum", binary(ops::minimum)},
      {"maximum", binary(ops::maximum)},
      {"clamp", [](const Vars& in) { return ops::clamp(in[0], -1, 1); }},
      {"abs", unary(ops::abs)},
      {"exp", unary(ops::exp)},
      {"sigmoid", unary(ops::sigmoid)},
      {"sin", unary(ops::sin)},
      {"cos", unary(ops::cos)},
      {"tanh", unary(ops::tanh)},
      {"sqrt", unary(ops::sqrt)},
      {"log", unary(ops::log)},
      {"log1p", [=](const Vars& in) { return ops::map(log1p_of, in[0]); }},
      {"softplus", unary(ops::softplus)},
      {"less", [=](const Vars& in) { return ops::map(where_less, in[0], in[1]); }},
      {"softmax", unary(ops::softmax)},
      {"log_softmax", unary(ops::log_softmax)},
      {"sum 1", [](const Vars& in) { return ops::sum(in[0], {1}); }},
      {"mean 0 2",
       [](const Vars& in) {
         return ops::mean(in[0], {0, 2});
       }},
      {"max 1", [](const Vars& in) { return ops::max(in[0], {1}); }},
      {"min 0 1",
       [](const Vars& in) {
         return ops::min(in[0], {0, 1});
       }},
      {"matmul", binary(ops::matmul)},
      {"relu", unary(ops::relu)},
      {"leaky_relu", [](const Vars& in) { return ops::leaky_relu(in[0], 0.125F); }},
      {"relu6", unary(ops::relu6)},
      {"silu", unary(ops::silu)},
      {"hardsigmoid", unary(ops::hardsigmoid)},
      {"hardswish", unary(ops::hardswish)},
      {"gelu_tanh", unary(ops::gelu_tanh)},
      {"mish", unary(ops::mish)},
      {"mse", loss_of(nn::mse())},
      {"cross_entropy", loss_of(nn::cross_entropy())},
      {"cross_entropy smooth", loss_of(nn::cross_entropy(0.25F))},
      {"l1", loss_of(nn::l1())},
      {"huber", loss_of(nn::huber(0.5))},
      {"smooth_l1", loss_of(nn::smooth_l1(0.5))},
      {"smooth_l1 0", loss_of(nn::smooth_l1(0))},
      {"bce", loss_of(nn::bce_with_logits())},
      {"bce weighted", weighted([](const Tensor& w) { return nn::bce_with_logits(w); })},
      {"focal", loss_of(nn::focal())},
      {"focal 1.5", loss_of(nn::focal(1.5, -1))},
      {"weighted", weighted([](const Tensor& w) { return nn::weighted_cross_entropy(w); })},
      {"weighted smooth",
       weighted([](const Tensor& w) { return nn::weighted_cross_entropy(w, 0.25F); })},
      {"cosine", loss_of(nn::cosine())},
  };
  return all;
}

/// Returns the weights of make_ops.py.
std::vector<double> weights(std::int64_t count) {
  std::vector<double> w;
  for (std::int64_t i = 0; i < count; ++i) w.push_back((static_cast<double>(7 * i % 11) - 4.5) / 4);
  return w;
}

void check_close(std::string_view what,
                 const Tensor& got,
                 const std::vector<double>& expected,
                 double tolerance) {
  REQUIRE(got.elements() == static_cast<std::int64_t>(expected.size()));
  double scale = 0;
  for (const double e : expected)
    if (std::isfinite(e)) scale = std::max(scale, std::min(std::abs(e), 1.0));
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const double e = expected[static_cast<std::size_t>(i)];
    const double g = get(got, i);
    CAPTURE(what);
    CAPTURE(i);
    CAPTURE(g);
    CAPTURE(e);
    const bool same = std::isnan(e) ? std::isnan(g)
                      : got.dtype() == DType::f32 && std::abs(e) > 3e38
                          ? g == std::copysign(INFINITY, e)
                          : std::abs(g - e) <= tolerance * std::max(std::abs(e), scale) || g == e;
    CHECK(same);
  }
}

void check_all(Context& ctx, DType dtype, double tolerance) {
  for (const golden::OpValues& one : golden::kOps) {
    CAPTURE(one.op);
    Tape tape(ctx);
    Vars in;
    for (std::size_t i = 0; i < one.in.size(); ++i) {
      const golden::OpTensor& x = one.in[i];
      const Tensor value =
          test::put_values(ctx, x.shape, x.values, x.whole_numbers ? DType::i64 : dtype);
      in.push_back(tape.input(value, i < one.grads.size()));
    }
    const Var y = runs().at(one.op)(in);
    REQUIRE(y.shape() == one.out.shape);
    const Tensor w = test::put_values(ctx, y.shape(), weights(y.value().elements()), dtype);
    const Tensor value = y.value();
    tape.backward(ops::sum(ops::mul(y, tape.input(w))));
    check_close("value", to_host(ctx, value), one.out.values, tolerance);
    for (std::size_t i = 0; i < one.grads.size(); ++i)
      check_close("gradient", to_host(ctx, tape.grad_of(in[i])), one.grads[i], tolerance);
  }
}

}  // namespace

TEST_CASE("operations and losses have PyTorch's values and gradients, at their borders too") {
  Context ctx(test::fast_context(2));
  if (!test::testing_cuda()) check_all(ctx, DType::f64, 1e-12);
  check_all(ctx, DType::f32, 2e-6);
}

TEST_CASE("losses of halves are computed in f32, and their gradients are halves") {
  Context ctx(test::fast_context(2));
  const std::vector<double> logits{-1, 0.5, 2, 0.25, -0.75, 3};
  const std::vector<double> targets{0, 1, 1, 0, 0, 1};
  const Tensor w = test::put_values(ctx, {3}, {1, 2, 0.5});
  for (const nn::Loss& loss : {nn::l1(),
                               nn::huber(),
                               nn::smooth_l1(),
                               nn::bce_with_logits(w),
                               nn::focal(),
                               nn::cosine(),
                               nn::weighted_cross_entropy(w)}) {
    CAPTURE(loss.name);
    std::vector<double> first;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      Tape tape(ctx);
      const Var x = tape.input(test::put_values(ctx, {2, 3}, logits, dtype), true);
      const Var value = loss.fn(x, test::put_values(ctx, {2, 3}, targets));
      CHECK(value.dtype() == DType::f32);
      CHECK(value.shape() == Shape{});
      const double got = test::fetch(ctx, value.value(), 0);
      tape.backward(value);
      const Tensor grad = to_host(ctx, tape.grad_of(x));
      CHECK(grad.dtype() == dtype);
      if (dtype == DType::f32) first.push_back(got);
      CHECK(got == first.front());  // the logits are the same numbers in each
      for (std::int64_t i = 0; i < 6; ++i) {
        if (dtype == DType::f32) first.push_back(get(grad, i));
        CHECK(get(grad, i) ==
              doctest::Approx(first[static_cast<std::size_t>(i) + 1]).epsilon(0.004));
      }
    }
  }
}

TEST_CASE(
    "losses: mismatched operands are named with both shapes, and bad options with their values") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {2, 3}, DType::f32, 0.5), true);
  const Tensor other = full(ctx.step(), {3}, DType::f32, 0);
  const Tensor fits = full(ctx.step(), {2, 3}, DType::f32, 0);
  const Tensor two = full(ctx.step(), {2}, DType::f32, 1);
  for (const nn::Loss& loss : {nn::l1(),
                               nn::bce_with_logits(),
                               nn::bce_with_logits(other),
                               nn::focal(),
                               nn::cosine(),
                               nn::weighted_cross_entropy(other)})
    CHECK_THROWS_WITH_AS(
        (void)loss.fn(x, other), doctest::Contains("(3), the prediction (2,3)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::bce_with_logits(two).fn(x, fits),
                       doctest::Contains("(2) do not fit logits (2,3)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::weighted_cross_entropy(two).fn(x, fits),
                       doctest::Contains("(2) do not fit logits (2,3)"),
                       ShapeError);
  const Var number = tape.input(full(ctx.step(), {}, DType::f32, 1));
  CHECK_THROWS_WITH_AS((void)nn::cosine().fn(number, number.value()),
                       doctest::Contains("() has no rows"),
                       ShapeError);
  const Tensor wrong = from_values(ctx.step(), {2}, std::vector<double>{0, 3}, DType::i64);
  CHECK_THROWS_WITH_AS(
      (void)nn::weighted_cross_entropy(other).fn(x, wrong), doctest::Contains("3"), DataError);
  CHECK_THROWS_WITH_AS(
      (void)nn::weighted_cross_entropy(other, 1), doctest::Contains("smoothing 1"), UsageError);
  CHECK_THROWS_WITH_AS((void)nn::huber(0), doctest::Contains("not 0"), UsageError);
  CHECK_THROWS_WITH_AS((void)nn::smooth_l1(-1), doctest::Contains("-1"), UsageError);
  CHECK_THROWS_WITH_AS((void)nn::focal(-1), doctest::Contains("-1"), UsageError);
  CHECK_THROWS_WITH_AS((void)nn::focal(2, 1.5), doctest::Contains("1.5"), UsageError);
}
