#include "framework/autograd/autocast.h"

#include "framework/autograd/ops.h"
#include "framework/tensor/factory.h"
#include "tests/golden/autocast_lists.h"
#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace learn;

namespace {

using Vars = std::vector<Var>;

struct Op {
  std::string name;
  std::vector<Shape> shapes;  ///< of the inputs that the rule is about
  std::function<Var(Tape&, const Vars&)> call;
  /// Dtype of the output when computed in `dtype`; for most operations `dtype`.
  std::function<DType(DType)> result = [](DType dtype) { return dtype; };
};

DType always_f32(DType) { return DType::f32; }

Tensor per_channel(Tape& tape, double value) {
  return full(tape.context().step(), {4}, DType::f32, value);
}

/// One call of each operation that has a rule.
std::vector<Op> all_ops() {
  const Shape image{2, 3, 3, 4};
  const Shape rows{3, 4};
  const auto unary = [&](const char* name, auto f) {
    return Op{name, {image}, [f](Tape&, const Vars& in) { return f(in[0]); }};
  };
  const auto binary = [&](const char* name, auto f) {
    return Op{name, {rows, rows}, [f](Tape&, const Vars& in) { return f(in[0], in[1]); }};
  };
  const Pool2dOptions window = Pool2dOptions::square(2, 1);
  std::vector<Op> all{
      {"conv2d",
       {image, {5, 3, 3, 4}, {5}},
       [](Tape&, const Vars& in) {
         return ops::conv2d(in[0], in[1], in[2], Conv2dOptions::symmetric(1, 1, 1));
       }},
      {"linear",
       {rows, {5, 4}, {5}},
       [](Tape&, const Vars& in) { return ops::linear(in[0], in[1], in[2]); }},
      {"matmul", {rows, {4, 2}}, [](Tape&, const Vars& in) { return ops::matmul(in[0], in[1]); }},
      {"mse",
       {rows},
       [](Tape& tape, const Vars& in) {
         return ops::mse(in[0], full(tape.context().step(), {3, 4}, DType::f32, 0.25));
       },
       always_f32},
      {"softmax_cross_entropy",
       {rows},
       [](Tape& tape, const Vars& in) {
         return ops::softmax_cross_entropy(
             in[0], full(tape.context().step(), {3}, DType::i64, 1), 0);
       },
       always_f32},
      {"sum", {rows}, [](Tape&, const Vars& in) { return ops::sum(in[0]); }, always_f32},
      {"mean", {rows}, [](Tape&, const Vars& in) { return ops::mean(in[0]); }, always_f32},
      unary("exp", ops::exp),
      unary("log", ops::log),
      unary("pow", [](const Var& x) { return ops::pow(x, 3); }),
      unary("softplus", ops::softplus),
      {"layer_norm",
       {rows},
       [](Tape& tape, const Vars& in) {
         const std::int64_t columns = in[0].shape()[-1];
         const auto full_of = [&](double value) {
           return tape.input(full(tape.context().step(), {columns}, DType::f32, value));
         };
         return ops::layer_norm(in[0], full_of(1), full_of(0));
       }},
      {"rms_norm",
       {rows},
       [](Tape& tape, const Vars& in) {
         return ops::rms_norm(
             in[0], tape.input(full(tape.context().step(), {in[0].shape()[-1]}, DType::f32, 1)));
       }},
      unary("softmax", ops::softmax),
      unary("log_softmax", ops::log_softmax),
      binary("add", ops::add),
      binary("mul", ops::mul),
      binary("sub", ops::sub),
      binary("div", ops::div),
      binary("minimum", ops::minimum),
      binary("maximum", ops::maximum),
      binary("map",
             [](const Var& a, const Var& b) {
               return ops::map([](const Expr& x, const Expr& y) { return x * exp(-y); }, a, b);
             }),
      {"add_bias", {rows, {4}}, [](Tape&, const Vars& in) { return ops::add_bias(in[0], in[1]); }},
      binary("concat",
             [](const Var& a, const Var& b) {
               const Var parts[] = {a, b};
               return ops::concat(parts, 1);
             }),
      {"batch_norm",
       {image, image},
       [](Tape& tape, const Vars& in) {
         return ops::batch_norm(in[0],
                                tape.input(per_channel(tape, 1)),
                                tape.input(per_channel(tape, 0)),
                                per_channel(tape, 0),
                                per_channel(tape, 1),
                                in[1],
                                {},
                                ForwardMode::train);
       }},
      {"weight_norm",
       {rows},
       [](Tape& tape, const Vars& in) {
         return ops::weight_norm(in[0],
                                 tape.input(full(tape.context().step(), {3}, DType::f32, 1.5)));
       }},
      unary("scale", [](const Var& x) { return ops::scale(x, 3); }),
      unary("abs", ops::abs),
      unary("sqrt", ops::sqrt),
      unary("clamp", [](const Var& x) { return ops::clamp(x, -0.5, 0.5); }),
      unary("sigmoid", ops::sigmoid),
      unary("sin", ops::sin),
      unary("cos", ops::cos),
      unary("tanh", ops::tanh),
      unary("max", [](const Var& x) { return ops::max(x, {-1}); }),
      unary("min", [](const Var& x) { return ops::min(x, {-1}); }),
      unary("slice", [](const Var& x) { return ops::slice(x, 1, 0, 2); }),
      unary("permute", [](const Var& x) { return ops::transpose(x, 0, 3); }),
      unary("dropout", [](const Var& x) { return ops::dropout(x, 0.5); }),
      unary("max_pool2d", [=](const Var& x) { return ops::max_pool2d(x, window); }),
      unary("avg_pool2d", [=](const Var& x) { return ops::avg_pool2d(x, window); }),
      unary("reshape", [](const Var& x) { return ops::flatten(x); }),
      unary("cast", [](const Var& x) { return ops::cast(x, x.dtype()); }),
  };
  const auto written = std::ranges::find(all, "weight_norm", [](const Op& op) { return op.name; });
  std::vector<Op> activations;
  for (std::size_t i = 1; i < kActivations.size(); ++i)
    activations.push_back(
        unary(kActivations.at(i).name,
              [kind = kActivations.at(i).kind](const Var& x) { return ops::activation(x, kind); }));
  all.insert(written + 1, activations.begin(), activations.end());
  return all;
}

/// With gradients of 7.
ParamSlot parameter(Context& ctx, const Tensor& value) {
  ParamSlot slot;
  slot.value = value;
  slot.grad = full(ctx.persistent(), value.shape(), DType::f32, 7);
  return slot;
}

/// Inputs of the given dtypes, with values that halves round.
Vars inputs_of(Tape& tape, const Op& op, const std::vector<DType>& dtypes) {
  Vars in;
  for (std::size_t i = 0; i < op.shapes.size(); ++i)
    in.push_back(
        tape.input(uniform(tape.context().step(), op.shapes[i], dtypes[i], -1, 1, 7 + i), true));
  return in;
}

DType computed_in(CastClass cast_class, DType half, const std::vector<DType>& given) {
  const bool same =
      std::all_of(given.begin(), given.end(), [&](DType dtype) { return dtype == given.front(); });
  switch (cast_class) {
    case CastClass::half:
      return half;
    case CastClass::full:
      return DType::f32;
    case CastClass::widest:
      return same ? given.front() : DType::f32;
    case CastClass::given:
      break;
  }
  return given.front();
}

/// Every choice of f32, f16 and bf16 for `count` inputs.
std::vector<std::vector<DType>> choices(std::size_t count) {
  std::vector<std::vector<DType>> all{{}};
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::vector<DType>> longer;
    for (const std::vector<DType>& one : all)
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        longer.push_back(one);
        longer.back().push_back(dtype);
      }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

TEST_CASE(
    "every operation computes in the dtype of its rule, and its gradients have the dtype of its "
    "inputs") {
  Context ctx({.threads = 1});
  const std::vector<Op> ops = all_ops();
  REQUIRE(ops.size() == kCastRules.size());
  for (std::size_t k = 0; k < ops.size(); ++k) {
    const Op& op = ops[k];
    CAPTURE(op.name);
    REQUIRE(op.name == kCastRules[k].op);
    for (const DType half : {DType::f16, DType::bf16})
      for (const std::vector<DType>& dtypes : choices(op.shapes.size())) {
        CAPTURE(half);
        CAPTURE(dtypes.front());
        CAPTURE(dtypes.back());
        const DType wanted = computed_in(kCastRules[k].cast_class, half, dtypes);
        Tape tape(ctx, {.autocast = half});
        const Vars in = inputs_of(tape, op, dtypes);
        const Var y = op.call(tape, in);
        CHECK(y.dtype() == op.result(wanted));
        tape.backward(ops::sum(y));
        // Does this by hand, outside of any region.
        Tape by_hand(ctx);
        const Vars leaves = inputs_of(by_hand, op, dtypes);
        Vars cast;
        for (const Var& leaf : leaves) cast.push_back(ops::cast(leaf, wanted));
        const Var z = op.call(by_hand, cast);
        CHECK(same_bits(y.value(), z.value()).equal);
        by_hand.backward(ops::sum(ops::cast(z, DType::f32)));
        for (std::size_t i = 0; i < in.size(); ++i) {
          CHECK(tape.grad_of(in[i]).dtype() == dtypes[i]);
          CHECK(same_bits(tape.grad_of(in[i]), by_hand.grad_of(leaves[i])).equal);
        }
      }
  }
}

TEST_CASE("the rules are PyTorch's for each operation that both have") {
  const std::map<std::string_view, std::string_view> torch_names{{"conv2d", "conv2d"},
                                                                 {"linear", "linear"},
                                                                 {"mse", "mse_loss"},
                                                                 {"sum", "sum"},
                                                                 {"add", "add"},
                                                                 {"mul", "mul"},
                                                                 {"add_bias", "add"},
                                                                 // by its type promotion, too
                                                                 {"sub", "add"},
                                                                 {"minimum", "add"},
                                                                 {"maximum", "add"},
                                                                 {"map", "add"},
                                                                 {"concat", "cat"}};
  const auto in_torch = [](std::string_view op) -> std::string_view {
    for (const auto& rule : golden::kTorchCastRules)
      if (rule.op == op) return rule.cast_class;
    return "given";
  };
  const std::map<std::string_view, CastClass> classes{{"half", CastClass::half},
                                                      {"full", CastClass::full},
                                                      {"widest", CastClass::widest},
                                                      {"given", CastClass::given}};
  for (const CastRule& rule : kCastRules) {
    CAPTURE(rule.op);
    // Two operations in PyTorch, of one class; and a residual is added where ours has one.
    if (rule.op == "softmax_cross_entropy") {
      CHECK(classes.at(in_torch("log_softmax")) == rule.cast_class);
      CHECK(classes.at(in_torch("nll_loss")) == rule.cast_class);
    } else if (rule.op == "batch_norm") {
      CHECK(in_torch("batch_norm") == "given");
      CHECK(classes.at(in_torch("add")) == rule.cast_class);
    } else if (rule.op == "mean") {
      // PyTorch's mean of halves is a half; ours is f32 in or outside of autocast, as sum is.
      CHECK(in_torch("mean") == "given");
      CHECK(classes.at(in_torch("sum")) == rule.cast_class);
    } else {
      const auto name = torch_names.find(rule.op);
      const std::string_view op = name == torch_names.end() ? rule.op : name->second;
      CHECK(classes.at(in_torch(op)) == rule.cast_class);
    }
  }
}

TEST_CASE("in nested regions, the innermost one counts") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {2, 3}, DType::f32, 1));
  const Var w = tape.input(full(ctx.step(), {4, 3}, DType::f32, 1));
  const auto dtype = [&] { return ops::linear(x, w, Var()).dtype(); };
  CHECK(dtype() == DType::f32);
  {
    const AutocastRegion outer(tape, DType::f16);
    CHECK(dtype() == DType::f16);
    {
      const AutocastRegion none(tape, std::nullopt);
      CHECK(dtype() == DType::f32);
      const AutocastRegion inner(tape, DType::bf16);
      CHECK(dtype() == DType::bf16);
    }
    CHECK(dtype() == DType::f16);
  }
  CHECK(dtype() == DType::f32);
  CHECK_THROWS_WITH_AS(AutocastRegion(tape, DType::f32),
                       doctest::Contains("autocast: the type must be f16 or bf16, not f32"),
                       DTypeError);
  CHECK_THROWS_AS(Tape(ctx, {.autocast = DType::f64}), DTypeError);
  tape.reset({.autocast = DType::bf16});
  CHECK(tape.autocast() == DType::bf16);
  tape.reset();
  CHECK(tape.autocast() == DType::bf16);
  tape.reset({});
  CHECK_FALSE(tape.autocast());
}

TEST_CASE("a parameter is cast once per step and its uses add up in one gradient") {
  Context ctx({.threads = 1});
  ParamSlot slot = parameter(ctx, uniform(ctx.persistent(), {3, 3}, DType::f32, -1, 1, 1));
  const auto step = [&](bool autocast) {
    slot.drop_grad();
    Tape tape(ctx);
    const AutocastRegion region(tape, autocast ? std::optional(DType::f16) : std::nullopt);
    const Var x = tape.input(uniform(ctx.step(), {2, 3}, DType::f16, -1, 1, 2));
    const Var w = autocast ? tape.param(slot) : ops::cast(tape.param(slot), DType::f16);
    const Var y = ops::linear(ops::linear(x, w, Var()), w, Var());
    if (autocast) {
      const Var once = tape.cast_once(tape.param(slot), DType::f16);
      CHECK(tape.cast_once(tape.param(slot), DType::f16).value().same_memory(once.value()));
      CHECK_FALSE(ops::cast(w, DType::f16).value().same_memory(once.value()));
    }
    tape.backward(ops::sum(ops::cast(y, DType::f32)));
    CHECK(slot.grad.dtype() == DType::f32);
    return to_host(ctx, slot.grad);
  };
  CHECK(same_bits(step(true), step(false)).equal);
  Tape tape(ctx);
  const Var w = tape.param(slot);
  const Var first = tape.cast_once(w, DType::f16);
  CHECK(tape.cast_once(w, DType::bf16).dtype() == DType::bf16);
  tape.reset();
  CHECK_THROWS_AS((void)first.value(), Error);
  set(slot.value, 0, 0.625);
  CHECK(get(tape.cast_once(tape.param(slot), DType::f16).value(), 0) == 0.625);
}

TEST_CASE("a frozen parameter is cast and gets no gradient") {
  Context ctx({.threads = 1});
  ParamSlot slot = parameter(ctx, full(ctx.persistent(), {3, 3}, DType::f32, 0.5));
  slot.trainable = false;
  Tape tape(ctx, {.autocast = DType::bf16});
  const Var x = tape.input(full(ctx.step(), {2, 3}, DType::f32, 1), true);
  const Var y = ops::linear(x, tape.param(slot), Var());
  CHECK(y.dtype() == DType::bf16);
  tape.backward(ops::sum(y));
  CHECK(get(slot.grad, 0) == 7);
  CHECK(get(tape.grad_of(x), 0) == 1.5);
}

TEST_CASE("f64 and whole numbers are never cast") {
  Context ctx({.threads = 1});
  Tape tape(ctx, {.autocast = DType::f16});
  const Var x = tape.input(full(ctx.step(), {2, 3}, DType::f64, 1));
  const Var w = tape.input(full(ctx.step(), {4, 3}, DType::f64, 1));
  const Var y = ops::linear(x, w, Var());
  CHECK(y.dtype() == DType::f64);
  CHECK(ops::add(y, y).dtype() == DType::f64);
  CHECK(ops::sum(y).dtype() == DType::f64);
  const Var classes = tape.input(full(ctx.step(), {2}, DType::i64, 1));
  CHECK_FALSE(autocast(CastClass::half, classes));
}

TEST_CASE("padded images stay padded when they are cast") {
  Context ctx({.threads = 1});
  const auto run = [&](bool padded) {
    Tape tape(ctx, {.autocast = DType::bf16});
    Tensor images = full(ctx.step(), {1, 3, 3, padded ? 8 : 3}, DType::f32, 0);
    for (std::int64_t i = 0; i < 9; ++i)
      for (std::int64_t c = 0; c < 3; ++c)
        set(images, i * (padded ? 8 : 3) + c, 0.1 * static_cast<double>(i + c));
    const Var x = tape.padded_input(images, padded ? 5 : 0);
    const Var w = tape.input(uniform(ctx.step(), {4, 3, 3, 3}, DType::f32, -1, 1, 3));
    return to_host(ctx, ops::conv2d(x, w, Var(), Conv2dOptions::symmetric(1, 1, 1)).value());
  };
  CHECK(same_bits(run(true), run(false)).equal);
}

TEST_CASE("a target in half is cast as the prediction is") {
  Context ctx({.threads = 1});
  Tape tape(ctx, {.autocast = DType::f16});
  const Var pred = tape.input(full(ctx.step(), {3}, DType::f32, 1.5));
  const Var loss = ops::mse(pred, full(ctx.step(), {3}, DType::f16, 0.5));
  CHECK(loss.dtype() == DType::f32);
  CHECK(get(loss.value(), 0) == 1);
}

namespace {

/// A user's own operation, as the comment of `autocast` has it.
Var product(const Var& a, const Var& b, CastClass cast_class) {
  if (const auto cast = autocast(cast_class, a, b))
    return product((*cast)[0], (*cast)[1], cast_class);
  const AutocastRegion none(a.tape(), std::nullopt);
  return ops::mul(a, b);
}

}  // namespace

TEST_CASE("a user's operation declares its class") {
  Context ctx({.threads = 1});
  Tape tape(ctx, {.autocast = DType::f16});
  const Var a = tape.input(full(ctx.step(), {3}, DType::f32, 1.0005));
  const Var b = tape.input(full(ctx.step(), {3}, DType::f16, 2));
  CHECK(product(a, b, CastClass::half).dtype() == DType::f16);
  CHECK(get(product(a, b, CastClass::half).value(), 0) == 2.001953125);
  CHECK(product(a, b, CastClass::full).dtype() == DType::f32);
  CHECK(product(a, b, CastClass::widest).dtype() == DType::f32);
  CHECK_THROWS_AS((void)product(a, b, CastClass::given), DTypeError);
}

TEST_CASE("classes have names") {
  CHECK(text_of(CastClass::half) == "half");
  CHECK(text_of(CastClass::full) == "f32");
  CHECK(text_of(CastClass::widest) == "widest");
  CHECK(text_of(CastClass::given) == "as given");
}
