#include "framework/nn/layers.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/loss.h"
#include "framework/nn/model.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

using namespace learn;
using nn::Scope;

namespace {

/// A store, a tape and an input of random values for one small net.
struct Bench {
  explicit Bench(DType dtype = DType::f32) : dtype_(dtype) {}
  void start(ForwardMode mode = ForwardMode::train) {
    if (!store.materialized()) store.materialize(ctx, dtype_);
    tape.reset({.mode = mode});
  }
  Var input(const Shape& shape) {
    return tape.input(uniform(ctx.step(), shape, dtype_, -1, 1, 11), true);
  }

  Context ctx{{.threads = 1}};
  nn::ParamStore store;
  Scope scope{store};
  Tape tape{ctx};

 private:
  DType dtype_;
};

Shape shape_after(nn::Module& module, Bench& bench, const Shape& in) {
  bench.start();
  return module(bench.input(in)).shape();
}

}  // namespace

TEST_CASE("shapes and descriptions of layers") {
  Bench b;
  nn::Conv2d same(b.scope / "a", 3, 8);
  nn::Conv2d strided(b.scope / "b", 3, 6, {.kernel = 5, .stride = 2, .pad = 0, .groups = 3});
  nn::Conv2d uneven(b.scope / "c",
                    3,
                    2,
                    1,
                    3,
                    {.stride_h = 2, .stride_w = 1, .pad_left = 2, .pad_right = 1},
                    false);
  nn::Conv2d even(b.scope / "k", 3, 4, {.kernel = 4});
  nn::MaxPool2d max(b.scope / "d", 2);
  nn::AvgPool2d average(b.scope / "e", Pool2dOptions::square(3, 2, 1));
  nn::GlobalAvgPool global(b.scope / "f");
  nn::GlobalMaxPool global_max(b.scope / "g");
  nn::Flatten flatten(b.scope / "h");
  nn::Linear linear(b.scope / "i", 12, 5, {.bias = false});
  nn::BatchNorm1d norm(b.scope / "j", 12);
  nn::LayerNorm rows(b.scope / "m", 3);
  nn::RMSNorm means(b.scope / "n", 3);
  const Shape in{2, 9, 8, 3};
  CHECK(shape_after(same, b, in) == Shape{2, 9, 8, 8});
  CHECK(shape_after(strided, b, in) == Shape{2, 3, 2, 6});
  CHECK(shape_after(uneven, b, in) == Shape{2, 5, 9, 2});
  CHECK(shape_after(even, b, in) == Shape{2, 10, 9, 4});  // padded by half a window
  CHECK(shape_after(max, b, in) == Shape{2, 4, 4, 3});
  CHECK(shape_after(average, b, in) == Shape{2, 5, 4, 3});
  CHECK(shape_after(global, b, in) == Shape{2, 1, 1, 3});
  CHECK(shape_after(global_max, b, in) == Shape{2, 1, 1, 3});
  CHECK(shape_after(flatten, b, in) == Shape{2, 216});
  CHECK(shape_after(linear, b, {4, 12}) == Shape{4, 5});
  CHECK(shape_after(norm, b, {4, 12}) == Shape{4, 12});
  CHECK(shape_after(rows, b, in) == in);
  CHECK(shape_after(means, b, in) == in);
  CHECK(same.describe() == "Conv2d(3 -> 8, 3x3, pad 1)");
  CHECK(strided.describe() == "Conv2d(3 -> 6, 5x5, stride 2, groups 3)");
  CHECK(uneven.describe() ==
        "Conv2d(3 -> 2, 1x3, stride 2x1, pad top 0 bottom 0 left 2 right 1, no bias)");
  CHECK(max.describe() == "MaxPool2d(2x2)");
  CHECK(average.describe() == "AvgPool2d(3x3, stride 2x2, pad 1x1)");
  CHECK(linear.describe() == "Linear(12 -> 5, no bias)");
  CHECK(norm.describe() == "BatchNorm1d(12)");
  CHECK(rows.describe() == "LayerNorm(3)");
  CHECK(means.describe() == "RMSNorm(3)");
  CHECK(nn::Dropout(b.scope / "k", 0.5).describe() == "Dropout(0.5)");
  CHECK(nn::Activation(b.scope / "l", ActivationKind::leaky_relu(0.1F)).describe() ==
        "leaky_relu 0.1");
}

TEST_CASE("wrong inputs and options name the layer and both values") {
  Bench b;
  nn::Conv2d conv(b.scope / "stem", 3, 8);
  nn::Linear linear(b.scope / "head", 12, 5);
  nn::BatchNorm2d norm(b.scope / "bn", 4);
  nn::LayerNorm rows(b.scope / "ln", 4);
  nn::RMSNorm means(b.scope / "rms", 4);
  nn::MaxPool2d pool(b.scope / "pool", 4);
  b.start();
  const auto refused = [&](nn::Module& module, const Shape& in, const char* text) {
    CHECK_THROWS_WITH_AS((void)module(b.input(in)), doctest::Contains(text), ShapeError);
  };
  refused(conv, {1, 4, 4, 1}, "Conv2d 'stem' expects images (N,H,W,3), got (1,4,4,1)");
  refused(linear, {1, 13}, "Linear 'head' expects (N,12), got (1,13)");
  refused(norm, {2, 3}, "BatchNorm2d 'bn' expects (N,H,W,4), got (2,3)");
  refused(rows, {2, 3}, "LayerNorm 'ln' expects (N,...,4), got (2,3)");
  refused(rows, {4}, "LayerNorm 'ln' expects (N,...,4), got (4)");
  refused(means, {2, 3}, "RMSNorm 'rms' expects (N,...,4), got (2,3)");
  refused(pool, {2, 3, 9, 1}, "'pool' of 4x4 does not fit into (2,3,9,1)");
  Bench fresh;
  CHECK_THROWS_AS(nn::Conv2d(fresh.scope / "a", 3, 8, {.groups = 2}), UsageError);
  CHECK_THROWS_AS(nn::Conv2d(fresh.scope / "e", 4, 3, {.groups = 2}), UsageError);
  CHECK_THROWS_AS(nn::Conv2d(fresh.scope / "b", 3, 8, {.stride = 0}), UsageError);
  CHECK_THROWS_AS(nn::Linear(fresh.scope / "c", 0, 8), UsageError);
  CHECK_THROWS_AS(nn::LayerNorm(fresh.scope / "f", 0), UsageError);
  CHECK_THROWS_AS(nn::RMSNorm(fresh.scope / "g", 0), UsageError);
  CHECK_THROWS_AS(nn::Dropout(fresh.scope / "d", 1.0), UsageError);
  CHECK_THROWS_AS((void)nn::cross_entropy(1.0F), UsageError);
}

TEST_CASE("initial values: biases within a bound of the inputs, plain norms") {
  Bench b;
  nn::Conv2d conv(b.scope / "conv", 9, 200);
  nn::Linear linear(b.scope / "linear", 100, 200);
  nn::BatchNorm2d norm(b.scope / "norm", 5);
  b.start();
  const auto largest = [&](const char* name) {
    const Tensor values = b.store.master(b.store.find(name));
    float found = 0;
    for (const float value : values.span<float>()) found = std::max(found, std::abs(value));
    return found;
  };
  // The largest of 200 uniform values is within a tenth of the bound.
  for (const auto& [name, bound] : {std::pair{"conv.bias", 1.0F / 9}, {"linear.bias", 1.0F / 10}}) {
    CHECK(largest(name) <= bound);
    CHECK(largest(name) > 0.9F * bound);
  }
  for (std::int64_t c = 0; c < 5; ++c) {
    CHECK(get(b.store.buffer(0).value, c) == 0);  // running mean
    CHECK(get(b.store.buffer(1).value, c) == 1);  // running variance
    CHECK(get(b.store.master(b.store.find("norm.weight")), c) == 1);
    CHECK(get(b.store.master(b.store.find("norm.bias")), c) == 0);
  }
}

TEST_CASE("a convolution adds its bias, if it has one") {
  Bench b;
  nn::Conv2d with(b.scope / "with", 3, 4), without(b.scope / "without", 3, 4, {.bias = false});
  b.start();
  Tensor bias = b.store.master(b.store.find("with.bias"));
  for (std::int64_t k = 0; k < 4; ++k) set(bias, k, static_cast<double>(k + 1));
  Tensor black = b.ctx.empty({1, 2, 2, 3}, DType::f32);
  for (std::int64_t i = 0; i < black.elements(); ++i) set(black, i, 0);
  const Tensor y = with(b.tape.input(black)).value(), z = without(b.tape.input(black)).value();
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    CHECK(get(y, i) == static_cast<double>(i % 4 + 1));
    CHECK(get(z, i) == 0);
  }
}

TEST_CASE("Sequential names its children by number and runs them in order") {
  Bench b;
  nn::Sequential net(b.scope / "net");
  net.emplace<nn::Linear>(4, 3);
  net.emplace<nn::Activation>(ActivationKind::relu());
  nn::Linear& last = net.emplace<nn::Linear>(3, 2);
  CHECK(net.size() == 3);
  CHECK(&net[2] == &last);
  CHECK_THROWS_WITH_AS((void)net[3], doctest::Contains("has 3 modules"), UsageError);
  CHECK(b.store.find("net.0.weight") == 0);
  CHECK(b.store.find("net.2.bias") == 3);
  b.start();
  const Var x = b.input({5, 4});
  const Tensor whole = net(x).value();
  const Tensor by_hand = net[2](ops::relu(net[0](x))).value();
  CHECK(same_bits(whole, by_hand));
}

TEST_CASE("Residual adds its branches, and says when it cannot") {
  Bench b;
  nn::Residual plain(b.scope / "plain", [](nn::Sequential& s) { s.emplace<nn::Linear>(4, 4); });
  nn::Residual both(
      b.scope / "both",
      [](nn::Sequential& s) { s.emplace<nn::Linear>(4, 3); },
      [](nn::Sequential& s) { s.emplace<nn::Linear>(4, 3, nn::LinearOptions{.bias = false}); },
      ActivationKind::relu());
  nn::Residual wrong(b.scope / "wrong", [](nn::Sequential& s) { s.emplace<nn::Linear>(4, 3); });
  CHECK(b.store.find("both.shortcut.0.weight") > b.store.find("both.body.0.bias"));
  CHECK(both.describe() == "Residual(relu)");
  b.start();
  const Var x = b.input({5, 4});
  const Var body = ops::linear(x,
                               b.tape.param(b.store.slot(b.store.find("plain.body.0.weight"))),
                               b.tape.param(b.store.slot(b.store.find("plain.body.0.bias"))));
  CHECK(same_bits(plain(x).value(), ops::add(body, x).value()));
  const Tensor summed = both(x).value();
  CHECK(summed.shape() == Shape{5, 3});
  for (const float v : summed.span<float>()) CHECK(v >= 0);
  CHECK_THROWS_WITH_AS((void)wrong(x),
                       doctest::Contains("the body returns (5,3) but the shortcut (5,4)"),
                       ShapeError);
}

// A module applied twice is one set of weights: its gradient is the sum of both uses. For y = w(w
// x) in one dimension with a positive w: dy/dw = 2 w x.
TEST_CASE("a shared module adds up the gradients of its uses") {
  Bench b(DType::f64);
  nn::Linear shared(b.scope / "shared", 1, 1, {.bias = false, .init = nn::init::constant(3)});
  b.start();
  const Var x = b.tape.input(full(b.ctx.step(), {1, 1}, DType::f64, 5), true);
  b.tape.backward(shared(shared(x)));
  CHECK(get(b.store.master_grad(0), 0) == 30);
  CHECK(get(b.tape.grad_of(x), 0) == 9);
  // A second pass into the same gradients, without begin_gradients, adds.
  b.tape.reset();
  b.tape.backward(shared(b.tape.input(full(b.ctx.step(), {1, 1}, DType::f64, 1))));
  CHECK(get(b.store.master_grad(0), 0) == 31);
}

TEST_CASE("Dropout drops in training and passes through in eval mode") {
  Bench b;
  nn::Dropout half(b.scope / "drop", 0.5);
  b.start();
  const Tensor ones = full(b.ctx.step(), {100, 10}, DType::f32, 1);
  double sum = 0;
  const Tensor dropped = half(b.tape.input(ones)).value();
  for (const float v : dropped.span<float>()) {
    CHECK((v == 0 || v == 2));
    sum += static_cast<double>(v);
  }
  CHECK(std::abs(sum - 1000) < 5 * 31.7);  // 1000 draws of 0 or 2: standard deviation 31.6
  b.start(ForwardMode::eval);
  CHECK(same_bits(half(b.tape.input(ones)).value(), ones));
}

namespace {

struct Gradients {
  Tensor y, dx;
};

/// One block, fused and as separate operations, from the same parameters (same names).
template <class Forward>
Gradients run_block(Bench& b, ForwardMode mode, const Forward& forward) {
  b.start(mode);
  b.store.begin_gradients();
  const Var x = b.input({4, 6, 6, 3});
  const Var r = b.tape.input(uniform(b.ctx.step(), {4, 6, 6, 8}, DType::f64, -1, 1, 12));
  const Var y = forward(x, r);
  // Uneven weights, so that a gradient that is wrong by a constant shows.
  const Var weights = b.tape.input(uniform(b.ctx.step(), y.shape(), DType::f64, -1, 1, 13));
  b.tape.backward(ops::sum(ops::mul(y, weights)));
  return {y.value(), b.tape.grad_of(x)};
}

}  // namespace

TEST_CASE("ConvBnAct equals convolution, normalization, activation and sum") {
  for (const bool before : {false, true}) {
    for (const ForwardMode mode : {ForwardMode::train, ForwardMode::eval}) {
      CAPTURE(before);
      CAPTURE(static_cast<int>(mode));
      const ActivationKind act = ActivationKind::leaky_relu(0.1F);
      Bench one(DType::f64);
      nn::ConvBnAct fused(
          one.scope / "block", 3, 8, {.activation = act, .residual_before_activation = before});
      Bench two(DType::f64);
      nn::Conv2d conv(two.scope / "block" / "conv", 3, 8, {.bias = false});
      nn::BatchNorm2d norm(two.scope / "block" / "bn", 8);
      const Gradients a =
          run_block(one, mode, [&](const Var& x, const Var& r) { return fused(x, r); });
      const Gradients b = run_block(two, mode, [&](const Var& x, const Var& r) {
        const Var n = norm(conv(x));
        return before ? ops::activation(ops::add(n, r), act) : ops::add(ops::activation(n, act), r);
      });
      // Both in double; only the order of some products differs.
      CHECK_MESSAGE(all_close(a.y, b.y, 1e-12, 1e-12), all_close(a.y, b.y, 1e-12, 1e-12).text);
      CHECK_MESSAGE(all_close(a.dx, b.dx, 1e-10, 1e-12), all_close(a.dx, b.dx, 1e-10, 1e-12).text);
      REQUIRE(one.store.size() == 3);
      for (std::int64_t i = 0; i < 3; ++i) {
        const Comparison same =
            all_close(one.store.master_grad(i), two.store.master_grad(i), 1e-10, 1e-12);
        CHECK_MESSAGE(same, one.store.info(i).name << ": " << same.text);
      }
      CHECK(all_close(one.store.flat_buffers(), two.store.flat_buffers(), 1e-12, 1e-12));
    }
  }
}

TEST_CASE("ConvBnAct with weight norm equals convolution, activation and sum") {
  const ActivationKind act = ActivationKind::leaky_relu(0.1F);
  for (const bool before : {false, true}) {
    CAPTURE(before);
    Bench one(DType::f64);
    nn::ConvBnAct block(
        one.scope / "block",
        3,
        8,
        {.activation = act, .residual_before_activation = before, .weight_norm = true});
    Bench two(DType::f64);
    nn::Conv2d conv(two.scope / "block" / "conv", 3, 8, {.weight_norm = true});
    const Gradients a =
        run_block(one, ForwardMode::train, [&](const Var& x, const Var& r) { return block(x, r); });
    const Gradients b = run_block(two, ForwardMode::train, [&](const Var& x, const Var& r) {
      return before ? ops::activation(conv(x) + r, act) : ops::activation(conv(x), act) + r;
    });
    CHECK(same_bits(a.y, b.y).equal);
    CHECK(same_bits(a.dx, b.dx).equal);
    REQUIRE(one.store.size() == 3);  // lengths, directions, bias
    CHECK(one.store.buffer_count() == 0);
    CHECK(same_bits(one.store.flat_grad(), two.store.flat_grad()).equal);
    one.start();
    two.start();
    CHECK(same_bits(block(one.input({4, 6, 6, 3})).value(),
                    ops::activation(conv(two.input({4, 6, 6, 3})), act).value())
              .equal);
    CHECK(block.describe() == "ConvBnAct: Conv2d(3 -> 8, 3x3, pad 1, weight norm), leaky_relu 0.1");
  }
}

namespace {

/// Sees what it is given.
class Probe final : public nn::Module {
 public:
  explicit Probe(const Scope& scope)
      : Module(scope),
        weight_(scope.param("weight", {4}, nn::ParamRole::weight, nn::init::ones())) {}
  [[nodiscard]] std::string describe() const override { return "Probe"; }
  std::optional<DType> given, weight;
  bool autocast = false;

 protected:
  [[nodiscard]] Var forward(const Var& x) override {
    given = x.dtype();
    weight = x.tape().param(*weight_).dtype();
    autocast = x.tape().autocast().has_value();
    return ops::mul(x, x);
  }

 private:
  nn::Param weight_;
};

/// Its one child is a Probe.
class Around final : public nn::Module {
 public:
  explicit Around(const Scope& scope) : Module(scope), probe(scope / "probe") {}
  [[nodiscard]] std::string describe() const override { return "Around"; }
  Probe probe;

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return probe(x); }
};

}  // namespace

TEST_CASE("a module declared in f32 casts its inputs, and all of it computes in f32") {
  for (const bool half_model : {false, true}) {
    CAPTURE(half_model);
    Bench bench;
    Around kept((bench.scope / "kept").in_f32());
    Around plain(bench.scope / "plain");
    bench.start();
    if (half_model) bench.store.set_working_dtype(DType::f16);
    const Tensor ones = full(bench.ctx.step(), {2, 4}, DType::f16, 300);
    bench.tape.reset({.autocast = half_model ? std::nullopt : std::optional(DType::f16)});
    const Var x = bench.tape.input(ones, true);
    CHECK(std::isinf(get(plain(x).value(), 0)));
    CHECK(plain.probe.given == DType::f16);
    CHECK(plain.probe.weight == (half_model ? DType::f16 : DType::f32));
    CHECK(plain.probe.autocast != half_model);
    const Var y = kept(x);
    CHECK(kept.probe.given == DType::f32);
    CHECK(kept.probe.weight == DType::f32);
    CHECK_FALSE(kept.probe.autocast);
    CHECK(y.dtype() == DType::f16);  // and 90000 is infinite there
    CHECK(bench.tape.autocast().has_value() != half_model);
    bench.tape.backward(ops::sum(y));
    CHECK(bench.tape.grad_of(x).dtype() == DType::f16);
    CHECK(get(bench.tape.grad_of(x), 0) == 600);
  }
  Bench bench;
  CHECK(nn::type_of(Around(bench.scope)) == "Around");
  CHECK(nn::type_of(nn::Linear(bench.scope / "linear", 2, 3)) == "Linear");
}

TEST_CASE("names that are kept in f32 add to what the model declares") {
  Bench bench;
  const Around declared((bench.scope / "declared").in_f32());
  const Around named(bench.scope / "named");
  bench.start();
  bench.store.set_working_dtype(DType::f16);
  for (const bool kept : {false, true, false}) {
    if (kept)
      bench.store.keep_f32({"named"});
    else
      bench.store.keep_f32({});
    REQUIRE(bench.store.size() == 2);
    for (std::int64_t i = 0; i < 2; ++i)
      CHECK(bench.store.info(i).keeps_f32 ==
            (kept || bench.store.info(i).name.starts_with("declared")));
  }
}

TEST_CASE("losses") {
  Bench b;
  b.start();
  Tensor logits = zeros(b.ctx.step(), {2, 4});
  set(logits, 3, 100);
  Tensor classes(b.ctx.step(), {2}, DType::i64);
  set(classes, 0, 3);
  set(classes, 1, 1);
  const Var pred = b.tape.input(logits, true);
  // The first sample is certain and right, the second undecided between four.
  CHECK(get(nn::cross_entropy().fn(pred, classes).value(), 0) ==
        doctest::Approx(std::log(4.0) / 2).epsilon(1e-6));
  // Smoothing 0.4 puts 0.1 on each other class: 0.3 * 100 more for the first.
  CHECK(get(nn::cross_entropy(0.4F).fn(pred, classes).value(), 0) ==
        doctest::Approx((30 + std::log(4.0)) / 2).epsilon(1e-6));
  const Var three = b.tape.input(full(b.ctx.step(), {2, 2}, DType::f32, 3), true);
  CHECK(get(nn::mse().fn(three, full(b.ctx.step(), {2, 2}, DType::f32, 1)).value(), 0) == 4);
  CHECK(nn::cross_entropy().name == "cross_entropy");
  CHECK(nn::mse().name == "mse");
}
