#include "framework/autograd/tape.h"

#include "framework/autograd/ops.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace learn;

namespace {

/// A parameter whose gradient is NaN until it is written.
std::unique_ptr<ParamSlot> make_param(Context& ctx, const Shape& shape, double value) {
  auto slot = std::make_unique<ParamSlot>();
  slot->name = "weight";
  slot->value = full(ctx.persistent(), shape, DType::f32, value);
  slot->grad = full(ctx.persistent(), shape, DType::f32, NAN);
  return slot;
}

/// Reading before writing shows as NaN.
const ContextOptions kChecked{.threads = 1, .arena = {.guard = true, .poison = true}};

}  // namespace

TEST_CASE("only one of several receivers of a gradient adds to it") {
  Context ctx(kChecked);
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.persistent(), {3}, DType::f32, 1), true);
  const Var a = ops::scale(x, 2);
  const Var b = ops::scale(x, 3);
  const Var y = ops::add(a, b);
  // The gradient of the sum is handed to a and to y, then to b, and a gets y's on top.
  tape.backward(ops::sum(ops::add(y, a)));
  for (std::int64_t i = 0; i < 3; ++i) CHECK(get(tape.grad_of(x), i) == 2 * 2 + 3);
}

TEST_CASE("a gradient that is passed on is not copied, and a leaf owns its gradient") {
  Context ctx({.threads = 1});
  constexpr std::int64_t kElements = 1 << 16;
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.persistent(), {kElements}, DType::f32, 1), true);
  const Var sum = ops::add(ops::add(ops::scale(x, 1), ops::scale(x, 2)),
                           ops::add(ops::scale(x, 3), ops::scale(x, 4)));
  const std::size_t forward = ctx.step().stats().used;
  tape.backward(ops::sum(ops::reshape(sum, {2, kElements / 2})));
  CHECK(get(tape.grad_of(x), 0) == 1 + 2 + 3 + 4);
  // One for the sum, all its parts and the reshaped; then the leaf's own.
  constexpr std::size_t kOne = kElements * sizeof(float);
  CHECK(ctx.step().stats().peak < forward + 2 * kOne + kOne / 2);
  Tape both(ctx);
  const Var a = both.input(full(ctx.persistent(), {4}, DType::f32, 1), true);
  const Var b = both.input(full(ctx.persistent(), {4}, DType::f32, 1), true);
  both.backward(ops::sum(ops::add(a, b)));
  CHECK(both.grad_of(a).raw() != both.grad_of(b).raw());
}

TEST_CASE("a Var of a dead tape is refused with the reason") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {1}, DType::f32, 2), true);
  tape.reset();
  CHECK_THROWS_WITH_AS((void)x.value(), doctest::Contains("reset"), Error);
}

TEST_CASE("a second backward pass is refused with the reason") {
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

TEST_CASE("a parameter used twice has one gradient, and its first writer overwrites") {
  Context ctx(kChecked);
  const auto w = make_param(ctx, {3}, 2);
  Tape tape(ctx);
  const Var a = tape.param(*w);
  const Var b = tape.param(*w);
  CHECK(a.value().same_memory(b.value()));
  tape.backward(ops::sum(ops::mul(a, b) + ops::scale(a, 3)));  // d(w^2 + 3 w) = 2 w + 3
  for (int i = 0; i < 3; ++i) CHECK(get(w->grad, i) == 7);
  CHECK(w->has_grad());
}

TEST_CASE("a second tape adds to a gradient that was written, until it is cleared") {
  Context ctx(kChecked);
  const auto w = make_param(ctx, {2}, 1);
  for (int micro_batch = 1; micro_batch <= 3; ++micro_batch) {
    Tape tape(ctx);
    tape.backward(ops::sum(ops::scale(tape.param(*w), 5)));
    CHECK(get(w->grad, 1) == 5 * micro_batch);
  }
  w->drop_grad();
  Tape tape(ctx);
  tape.backward(ops::sum(tape.param(*w)));
  CHECK(get(w->grad, 0) == 1);
}

TEST_CASE("branches add up, and an unused branch is ignored") {
  Context ctx(kChecked);
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {4}, DType::f32, 3), true);
  const Var shared = ops::scale(x, 2);
  const Var left = ops::mul(shared, shared);
  const Var right = ops::relu(shared);
  const Var unused = ops::mul(shared, left);
  tape.backward(ops::sum(left + right));  // d(4 x^2 + 2 x) = 8 x + 2
  for (int i = 0; i < 4; ++i) CHECK(get(tape.grad_of(x), i) == 26);
  CHECK(get(unused.value(), 0) == 216);
}

TEST_CASE("several heads: the gradient of a sum of losses is the sum of theirs") {
  Context ctx(kChecked);
  const auto w = make_param(ctx, {4}, 1.5);
  const auto gradient = [&](bool first, bool second) {
    w->drop_grad();
    Tape tape(ctx);
    const Var trunk = ops::silu(tape.param(*w));
    const Var a = ops::mean(ops::mul(trunk, trunk));
    const Var b = ops::sum(ops::gelu(trunk));
    tape.backward(first && second ? a + b : first ? a : b);
    return get(w->grad, 2);
  };
  CHECK(gradient(true, true) ==
        doctest::Approx(gradient(true, false) + gradient(false, true)).epsilon(1e-6));
}

TEST_CASE("a parameter on the tape without a way to the loss gets a zero gradient") {
  Context ctx(kChecked);
  const auto used = make_param(ctx, {2}, 1);
  const auto beside = make_param(ctx, {2}, 1);
  const auto frozen = make_param(ctx, {2}, 1);
  frozen->trainable = false;
  Tape tape(ctx);
  const Var y = ops::mul(tape.param(*used), tape.param(*frozen));
  const Var side = ops::relu(tape.param(*beside));
  CHECK(side.needs_grad());
  CHECK_FALSE(tape.param(*frozen).needs_grad());
  tape.backward(ops::sum(y));
  CHECK(get(used->grad, 0) == 1);
  CHECK(get(beside->grad, 0) == 0);
  CHECK(beside->has_grad());
  CHECK(std::isnan(get(frozen->grad, 0)));
  CHECK_FALSE(frozen->has_grad());
}

TEST_CASE(
    "misuse: another tape, a loss of many elements, nothing to train, a Var without a value") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  Tape other(ctx);
  const Var x = tape.input(full(ctx.step(), {2}, DType::f32, 1), true);
  const Var z = other.input(full(ctx.step(), {2}, DType::f32, 1), true);
  CHECK_THROWS_WITH_AS((void)(x + z), doctest::Contains("another tape"), Error);
  CHECK_THROWS_WITH_AS(tape.backward(ops::relu(x)), doctest::Contains("(2)"), ShapeError);
  const Var constant = tape.input(full(ctx.step(), {1}, DType::f32, 1));
  CHECK_THROWS_WITH_AS(
      tape.backward(ops::relu(constant)), doctest::Contains("any trained parameter"), Error);
  CHECK_THROWS_WITH_AS((void)Var().value(), doctest::Contains("has no value"), Error);
  ParamSlot empty;
  empty.name = "layers.0.weight";
  CHECK_THROWS_WITH_AS((void)tape.param(empty), doctest::Contains("layers.0.weight"), Error);
  tape.backward(ops::sum(x));  // the failed attempts have left the tape usable
  CHECK(get(tape.grad_of(x), 0) == 1);
  Tape no_grad(ctx, {.grad = false});
  const Var y = no_grad.input(full(ctx.step(), {1}, DType::f32, 1), true);
  CHECK_THROWS_WITH_AS(
      no_grad.backward(ops::relu(y)), doctest::Contains("any trained parameter"), Error);
}

TEST_CASE("a Var that outlives its tape holds no memory and says what happened") {
  Context ctx({.threads = 1});
  Var x;
  {
    Tape tape(ctx);
    x = ops::relu(tape.input(full(ctx.step(), {1000}, DType::f32, 1)));
    CHECK(ctx.step().stats().blocks == 1);
  }
  CHECK(ctx.step().stats().blocks == 0);
  CHECK_THROWS_WITH_AS((void)x.value(), doctest::Contains("destroyed"), Error);
  CHECK_THROWS_AS((void)x.tape(), Error);
  CHECK_THROWS_AS((void)x.needs_grad(), Error);
}

TEST_CASE("an evaluation forward of any depth holds two activations at a time") {
  Context ctx({.threads = 1});
  constexpr std::size_t kBytes = 1000 * sizeof(float);
  Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false});
  Var x = tape.input(full(ctx.step(), {1000}, DType::f32, 1));
  for (int depth = 0; depth < 100; ++depth) x = ops::relu(x);
  CHECK(ctx.step().stats().blocks == 1);
  CHECK(ctx.step().stats().peak < 3 * kBytes);
  CHECK(get(x.value(), 999) == 1);
}

TEST_CASE("backward frees each operation's memory as it goes") {
  Context ctx({.threads = 1});
  constexpr int kDepth = 100;
  constexpr std::size_t kBytes = 1000 * sizeof(float);
  const auto w = make_param(ctx, {1000}, 0.5);
  Tape tape(ctx);
  std::optional<Var> x = tape.param(*w);
  for (int depth = 0; depth < kDepth; ++depth) x = ops::silu(*x);
  const Var loss = ops::sum(*x);
  x.reset();
  const std::size_t held = ctx.step().stats().used;
  CHECK(held >= (kDepth - 1) * kBytes);  // silu's backward needs its inputs
  tape.backward(loss);
  // At its worst the pass adds two gradients to what the forward pass held.
  CHECK(ctx.step().stats().peak < held + 3 * kBytes);
  CHECK(ctx.step().stats().used < kBytes);  // what is left is the loss
  CHECK(std::isfinite(get(w->grad, 0)));
}

TEST_CASE("a repeated step takes the same addresses, so a frozen arena serves it") {
  Context ctx({.threads = 1});
  const auto w = make_param(ctx, {1000}, 0.5);
  Tape tape(ctx);
  const std::byte* first = nullptr;
  for (int step = 0; step < 3; ++step) {
    tape.reset();
    w->drop_grad();
    const Var y = ops::gelu(ops::scale(tape.param(*w), 2));
    const Var loss = ops::mean(y);
    tape.backward(loss);
    if (step == 0) {
      first = y.value().raw();
      ctx.step().freeze();
    }
    CHECK(y.value().raw() == first);
  }
}

TEST_CASE(
    "an observer of the backward pass sees whole gradients in its order, and may replace them") {
  Context ctx(kChecked);
  struct Log final : BackwardObserver {
    void reached(std::uint32_t value, std::string_view operation, Tensor& gradient) override {
      seen += fmt::format("{} {} {} ", value, operation, get(gradient, 0));
      if (value == replaced) gradient = other;
    }
    std::string seen;
    std::uint32_t replaced = 0;
    Tensor other;
  };
  Log log;
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.persistent(), {2}, DType::f32, 1), true);  // value 0
  const Var a = ops::scale(x, 2);                                              // 1
  const Var b = ops::scale(x, 3);                                              // 2
  const Var y = ops::add(a, b);                                                // 3
  const Var z = ops::add(y, a);                                                // 4
  (void)ops::scale(x, 9);                                                      // leads nowhere
  log.replaced = a.id();
  log.other = full(ctx.persistent(), {2}, DType::f32, 100);
  tape.observe_backward(&log);
  CHECK(tape.backward_observer() == &log);
  tape.backward(ops::sum(z));
  CHECK(log.seen == "6 sum 1 4 add 1 3 add 1 2 scale 1 1 scale 2 ");
  CHECK(get(tape.grad_of(x), 0) == 3 + 2 * 100);
}

namespace {

/// The parameters whose gradients became complete, in order, and what the gradients were then.
struct Completions final : GradientObserver {
  void complete(ParamSlot& slot) override {
    names.push_back(slot.name);
    gradients.push_back(get(slot.grad, 0));
  }
  std::vector<std::string> names;
  std::vector<double> gradients;
};

std::unique_ptr<ParamSlot> named(Context& ctx, std::string name, double value) {
  auto slot = make_param(ctx, {2}, value);
  slot->name = std::move(name);
  return slot;
}

/// An operation that uses a parameter which is not among its inputs.
struct HiddenParamNode final : Node {
  explicit HiddenParamNode(Var param) : hidden(std::move(param)) {}
  std::string_view name() const override { return "hidden"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.pass_on(input(0), dy);
    tape.pass_on(hidden, dy);
  }
  Var hidden;
};

}  // namespace

TEST_CASE("a gradient is complete once the first operation that read the parameter is done") {
  Context ctx(kChecked);
  auto shared = named(ctx, "shared", 2);
  auto last = named(ctx, "last", 3);
  auto unused = named(ctx, "unused", 1);
  auto unreached = named(ctx, "unreached", 1);
  auto frozen = named(ctx, "frozen", 1);
  frozen->trainable = false;
  Tape tape(ctx);
  Completions seen;
  tape.observe_gradients(&seen);
  for (int step = 0; step < 2; ++step) {
    seen = {};
    tape.reset();
    for (ParamSlot* const slot : {shared.get(), last.get(), unused.get(), unreached.get()})
      slot->drop_grad();
    (void)tape.param(*unused);
    const Var x = tape.input(full(ctx.persistent(), {2}, DType::f32, 5));
    const Var a = ops::mul(x, tape.param(*shared));
    (void)ops::scale(tape.param(*unreached), 4);
    const Var b = ops::mul(a, tape.param(*last));
    const Var c = ops::mul(ops::mul(b, tape.param(*shared)), tape.param(*frozen));
    tape.backward(ops::sum(ops::mul(c, c)));
    CHECK(seen.names == std::vector<std::string>{"unused", "last", "unreached", "shared"});
    // c = x s l s, so dc^2/dl = 2 c x s^2 and dc^2/ds = 4 c x s l.
    CHECK(seen.gradients == std::vector<double>{0, 2 * 60 * 20, 0, 4 * 60 * 30});
  }
}

TEST_CASE("a widened parameter is complete once the cast of its gradient is done") {
  Context ctx(kChecked);
  auto weight = named(ctx, "weight", 1);
  weight->value = full(ctx.persistent(), {2}, DType::f16, 2);
  weight->grad = full(ctx.persistent(), {2}, DType::f16, NAN);
  weight->widened = true;
  Tape tape(ctx);
  Completions seen;
  tape.observe_gradients(&seen);
  const Var w = tape.param(*weight);
  tape.backward(ops::sum(ops::mul(w, tape.param(*weight))));
  CHECK(seen.names == std::vector<std::string>{"weight"});
  CHECK(seen.gradients == std::vector<double>{4});
}

TEST_CASE("adding to a gradient that was complete is an error") {
  Context ctx(kChecked);
  auto weight = named(ctx, "weight", 2);
  Tape tape(ctx);
  const Var w = tape.param(*weight);
  const Var x = tape.input(full(ctx.persistent(), {2}, DType::f32, 5), true);
  const Var y = tape.record({x}, x.value(), HiddenParamNode(w));
  CHECK_THROWS_WITH_AS(tape.backward(ops::sum(y)),
                       doctest::Contains("the gradient of 'weight' was complete"),
                       Error);
}
