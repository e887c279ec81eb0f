#include "framework/autograd/tape.h"

#include "framework/autograd/ops/activation.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("a Var of a dead tape says so") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {1}, DType::f32, 2), true);
  tape.reset();
  CHECK_THROWS_WITH_AS((void)x.value(), doctest::Contains("reset"), Error);
}

TEST_CASE("a second backward pass says so") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {1}, DType::f32, 2), true);
  const Var y = ops::relu(x);
  tape.backward(y);
  CHECK(get(tape.grad_of(x), 0) == 1);
  CHECK_THROWS_WITH_AS(tape.backward(y), doctest::Contains("already"), Error);
}

TEST_CASE("the seed scales the gradient and not the loss") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {1}, DType::f32, 2), true);
  const Var y = ops::silu(x);
  const double loss = get(y.value(), 0);
  tape.backward(y, full(ctx.step(), {}, DType::f32, 512));
  CHECK(get(y.value(), 0) == loss);
  CHECK(get(tape.grad_of(x), 0) == doctest::Approx(512 * 1.0907842));
}
