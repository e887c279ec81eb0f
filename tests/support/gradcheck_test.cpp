#include "tests/support/gradcheck.h"

#include "framework/autograd/gradcheck.h"
#include "framework/autograd/ops.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace learn;
using learn::test::check_determinism;
using learn::test::check_gradients;
using learn::test::check_parity;
using learn::test::OpCase;

namespace {

/// y = x^2, with one fault of choice.
enum class Fault : std::uint8_t { none, slope, ignores_mode, partly_written, forward, threads };

struct SquareNode final : Node {
  Tensor x;
  Fault fault;
  SquareNode(Tensor x_in, Fault f) : x(std::move(x_in)), fault(f) {}
  std::string_view name() const override { return "square"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      const bool add = mode == GradMode::accumulate && fault != Fault::ignores_mode;
      const std::int64_t n = dx.elements() - (fault == Fault::partly_written ? 1 : 0);
      const double factor = fault == Fault::slope ? 2.001 : 2;
      for (std::int64_t i = 0; i < n; ++i)
        set(dx, i, (add ? get(dx, i) : 0) + factor * get(x, i) * get(dy, i));
    });
  }
};

OpCase square(Fault fault) {
  return {.name = "square",
          .inputs = {{.name = "x", .shape = {3, 5}}},
          .call = [fault](Tape& tape, std::span<const Var> in) {
            const Tensor x = in[0].value();
            Tensor y = tape.empty(x.shape(), x.dtype());
            // Twelve units of error in the last place, on one element, in f32 and below only.
            const bool wrong = fault == Fault::forward && x.dtype() != DType::f64;
            const bool many = fault == Fault::threads && tape.context().threads().threads() == 3;
            for (std::int64_t i = 0; i < x.elements(); ++i) {
              const double exact = get(x, i) * get(x, i);
              set(y, i, wrong && i == 7 ? exact + 12 * 0x1p-7 : many ? exact * 1.02 : exact);
            }
            return tape.record({in[0]}, y, SquareNode(x, fault));
          }};
}

}  // namespace

TEST_CASE("the checkers accept a right operation") {
  CHECK(check_gradients(square(Fault::none)).text == "gradients agree");
  CHECK(check_parity(square(Fault::none)).text == "parity holds");
  CHECK(check_determinism(square(Fault::none)).text == "same bits");
}

TEST_CASE("the gradient checker finds a slope that is wrong by a thousandth") {
  const auto result = check_gradients(square(Fault::slope));
  CHECK_FALSE(result.equal);
  CHECK(result.text.find("overwritten") != std::string::npos);
}

TEST_CASE("the gradient checker finds a backward that overwrites what it should add to") {
  const auto result = check_gradients(square(Fault::ignores_mode));
  CHECK_FALSE(result.equal);
  CHECK(result.text.find("accumulated") != std::string::npos);
}

TEST_CASE("the gradient checker finds an element that is never written") {
  const auto result = check_gradients(square(Fault::partly_written));
  CHECK_FALSE(result.equal);
  CHECK(result.text.find("nan") != std::string::npos);
}

TEST_CASE("the parity checker finds one wrong element of the fast implementation") {
  CHECK_FALSE(check_parity(square(Fault::forward)).equal);
  CHECK(check_gradients(square(Fault::forward)).equal);
}

TEST_CASE("the determinism checker finds a result that depends on the thread count") {
  const auto result = check_determinism(square(Fault::threads));
  CHECK_FALSE(result.equal);
  CHECK(result.text.find("3 threads") != std::string::npos);
}

TEST_CASE("the checker avoids kinks by value, and finds those inside") {
  OpCase relu{.name = "relu",
              .inputs = {{.name = "x", .shape = {40}, .kinks = {0}}},
              .call = [](Tape&, std::span<const Var> in) { return ops::relu(in[0]); }};
  const test::OpValues values = test::draw_values(relu, 7);
  for (const double x : values[0]) CHECK(std::abs(x) >= 0.02);
  CHECK(check_gradients(relu).equal);

  relu.inputs[0].kinks = {};
  relu.inputs[0].values = std::vector<double>(40, 0.5);
  relu.inputs[0].values[11] = 0;
  CHECK_FALSE(check_gradients(relu).equal);
  relu.inner_kinks = true;
  CHECK(check_gradients(relu).equal);
  relu.inputs[0].values.assign(40, 0);
  CHECK(check_gradients(relu).text.find("at kinks") != std::string::npos);
}

TEST_CASE("the public gradient checker says where, what and how far") {
  const OpCase wrong = square(Fault::slope);
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const GradientReport report = learn::check_gradients(wrong.call, {{"x", {2, 5}, values}});
  CHECK_FALSE(report);
  REQUIRE(report.wrong.size() == 20);  // each overwritten and accumulated
  CHECK(report.wrong[4].element == 2);
  CHECK(report.wrong[5].accumulated);
  CHECK(report.wrong[14].at == std::vector<std::int64_t>{1, 2});
  CHECK(report.wrong[4].analytic / report.wrong[4].numeric == doctest::Approx(1.0005));
  CHECK(report.text().find("gradient of 'x' at (0,0), overwritten: backward gives") == 0);
  CHECK(report.text().find("... and 12 more\n") != std::string::npos);
  const GradientReport right =
      learn::check_gradients(square(Fault::none).call, {{"x", {2, 5}, values}});
  CHECK(right);
  CHECK(right.text() == "gradients agree at 10 elements\n");
}

TEST_CASE("the public gradient checker refuses what it cannot check") {
  const CheckedFunction same = [](Tape&, std::span<const Var> in) { return in[0]; };
  const CheckedFunction rounded = [](Tape&, std::span<const Var> in) {
    return ops::cast(in[0], DType::f32);
  };
  CHECK_THROWS_WITH_AS((void)learn::check_gradients(same, {{"x", {3}, {1, 2}}}),
                       doctest::Contains("'x' of shape (3) got 2 values"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)learn::check_gradients(rounded, {{"x", {2}, {1, 2}}}),
                       doctest::Contains("the operation returns f32"),
                       DTypeError);
  CHECK_THROWS_WITH_AS((void)learn::check_gradients(
                           [](Tape& tape, std::span<const Var>) {
                             return tape.input(full(tape.context().step(), {1}, DType::f64, 1),
                                               true);
                           },
                           {{"x", {1}, {1}, false}}),
                       doctest::Contains("none of the inputs is to be checked"),
                       UsageError);
}
