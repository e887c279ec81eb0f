#include "framework/core/error.h"
#include "framework/kernels/augment/augment.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/common/bias.h"
#include "framework/kernels/conv/conv.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/loss/mse.h"
#include "framework/kernels/loss/softmax_cross_entropy.h"
#include "framework/kernels/norm/batch_norm.h"
#include "framework/kernels/norm/layer_norm.h"
#include "framework/kernels/norm/weight_norm.h"
#include "framework/kernels/optim/optim.h"
#include "framework/kernels/pool/pool.h"
#include "framework/kernels/product/linear.h"
#include "framework/kernels/reduce/reduce.h"
#include "framework/kernels/step/gradients.h"
#include "framework/kernels/step/step.h"
#include "framework/tensor/factory.h"
#include "tests/support/other_device.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

// Operands that an operation cannot take. The layers above refuse most of them first; who calls an
// operation himself meets these.

using namespace learn;

namespace {

struct Refusal {
  std::string message;  ///< without the place in the sources
  std::function<void()> call;
};

void check_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& one : refusals) {
    CAPTURE(one.message);
    std::string got = "(nothing was refused)";
    try {
      one.call();
    } catch (const Error& error) {
      got = error.what();
      const std::size_t place =
          got.find(".cpp:") == std::string::npos ? got.find(".h:") : got.find(".cpp:");
      if (place != std::string::npos) got = got.substr(got.find(": ", place) + 2);
    }
    CHECK(got == one.message);
  }
}

struct Operands {
  Context ctx{{.device = Device::cpu(), .threads = 1}};

  Tensor operator()(const Shape& shape, DType dtype = DType::f32) {
    return zeros(ctx.step(), shape, dtype);
  }
};

}  // namespace

TEST_CASE("convolutions and linear layers refuse mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  const auto conv = [](const Shape& x, const Shape& w, Conv2dOptions o = {}, int padding = 0) {
    return [=] { (void)kernels::conv2d_geometry(x, w, o, padding); };
  };
  const Shape x{1, 4, 4, 3};
  const Shape w{8, 3, 3, 3};
  const auto linear = [&](const Shape& in, const Shape& weight) {
    return [&, in, weight] {
      Tensor y = make({2, 5});
      kernels::linear_forward(ctx, make(in), make(weight), {}, y);
    };
  };
  check_refusals({
      {"conv2d: paddings must not be negative, got top 0, bottom -1, left 0, right 0",
       conv(x, w, {.pad_bottom = -1})},
      {"conv2d: groups must be at least 1, not 0", conv(x, w, {.groups = 0})},
      {"conv2d: the weight must be (K,R,S,C/groups), not (8,27)", conv(x, {8, 27})},
      {"conv2d: a padding of 3 channels does not fit an input of (1,4,4,3)", conv(x, w, {}, 3)},
      {"conv2d: a padding of -1 channels does not fit an input of (1,4,4,3)", conv(x, w, {}, -1)},
      {"conv2d: the weight's window is empty: (8,3,0,3)", conv(x, {8, 3, 0, 3})},
      {"linear: the input must be (N,C) or (B,N,C), not (3)", linear({3}, {5, 3})},
      {"linear: the weight must be (K,C), not (5,3,1)", linear({2, 3}, {5, 3, 1})},
      {"linear: the weight must be (4,K,C), not (5,3)", linear({4, 2, 3}, {5, 3})},
      {"linear: the weight must be (4,K,C), not (3,5,3)", linear({4, 2, 3}, {3, 5, 3})},
      {"linear: input has 3 features, weight expects 2", linear({4, 2, 3}, {4, 5, 2})},
      {"linear: a batched product (2 matrices) takes no bias",
       [&] {
         Tensor y = make({2, 3, 5});
         kernels::linear_forward(ctx, make({2, 3, 4}), make({2, 5, 4}), make({5}), y);
       }},
      {"bias: gradient has shape (2,5), bias has (4)",
       [&] {
         Tensor db = make({4});
         kernels::bias_backward(ctx, make({2, 5}), db, GradMode::overwrite);
       }},
  });
}

TEST_CASE("elementwise operations refuse mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  const auto columns = [&](const Tensor& x, int outer, int offset) {
    return [&, x, outer, offset] {
      Tensor whole = make({2, 4});
      kernels::copy_into_columns(ctx, x, whole, outer, offset);
    };
  };
  const auto dropout = [&](double p, const Tensor& batch, std::int64_t first = 0) {
    return [&, p, batch, first] {
      Tensor y = make({2});
      kernels::dropout(ctx, {.p = p, .batch = batch, .first = first}, make({2}), y);
    };
  };
  const auto cast = [&](const Tensor& x, const Tensor& y) {
    return [&ctx, x, y] {
      Tensor out = y;
      kernels::cast(ctx, x, out);
    };
  };
  check_refusals({
      {"add_bias: dtypes differ: f32 and f16",
       [&] {
         Tensor y = make({2, 3});
         kernels::add_bias(ctx, make({2, 3}), make({3}, DType::f16), y);
       }},
      {"concat: dtypes differ: f16 and f32", columns(make({2, 2}, DType::f16), 2, 0)},
      {"concat: (2,2) and (2,4) must have 3 rows", columns(make({2, 2}), 3, 0)},
      {"concat: columns [3, 5) of 4", columns(make({2, 2}), 2, 3)},
      {"dropout: the probability must be in [0, 1), not 1", dropout(1, make({1}, DType::i64))},
      {"dropout: the batch's number must be one i64 element", dropout(0.5, make({1}))},
      {"dropout: the first of 2 elements must be from 0 to 1099511627774 in the mask, not -1",
       dropout(0.5, make({1}, DType::i64), -1)},
      {"dropout: the first of 2 elements must be from 0 to 1099511627774 in the mask, not "
       "1099511627775",
       dropout(0.5, make({1}, DType::i64), 1099511627775)},
      {"cast: shapes differ: (2) and (3)", cast(make({2}), make({3}))},
      {"cast: needs a floating type, got i64", cast(make({2}, DType::i64), make({2}))},
      {"cast: needs a floating type, got i64", cast(make({2}), make({2}, DType::i64))},
  });
}

TEST_CASE("losses refuse mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  const auto mse = [&](const Tensor& target, const Tensor& loss) {
    return [&, target, loss] {
      Tensor out = loss;
      kernels::mse_forward(ctx, make({2, 3}), target, out);
    };
  };
  const auto softmax = [&](const Tensor& logits, const Tensor& out) {
    return [&ctx, logits, out] {
      Tensor probabilities = out;
      kernels::softmax(ctx, logits, probabilities);
    };
  };
  const auto log_softmax = [&](const Tensor& logits, const Tensor& out) {
    return [&ctx, logits, out] {
      Tensor logarithms = out;
      kernels::log_softmax(ctx, logits, logarithms);
    };
  };
  const auto gradient = [&](kernels::SoftmaxForm form, const Tensor& y, const Tensor& dy) {
    return [&, form, y, dy] {
      Tensor dx = make({2, 3});
      kernels::softmax_backward(ctx, form, y, dy, dx, GradMode::overwrite);
    };
  };
  constexpr auto kProbabilities = kernels::SoftmaxForm::probabilities;
  constexpr auto kLogarithms = kernels::SoftmaxForm::logarithms;
  check_refusals({
      {"mse: the target must be f32 or f32, not f16", mse(make({2, 3}, DType::f16), make({}))},
      {"mse: the loss has shape (2), not one element", mse(make({2, 3}), make({2}))},
      {"mse: the loss must be f32, not f16", mse(make({2, 3}), make({}, DType::f16))},
      {"mse: dpred has shape (3,2), pred (2,3)",
       [&] {
         Tensor dpred = make({3, 2});
         kernels::mse_backward(
             ctx, make({2, 3}), make({2, 3}), make({}), dpred, GradMode::overwrite);
       }},
      {"softmax: logits must be (N,classes) with at least one class, not (2,0)",
       softmax(make({2, 0}), make({2, 0}))},
      {"softmax: the output has shape (3,2), not (2,3)", softmax(make({2, 3}), make({3, 2}))},
      {"softmax: the output must be f32 for f32 logits, it is f16",
       softmax(make({2, 3}), make({2, 3}, DType::f16))},
      {"log_softmax: the output has shape (3,2), not (2,3)",
       log_softmax(make({2, 3}), make({3, 2}))},
      {"softmax: shapes differ: (2,3) and (2,4)",
       gradient(kProbabilities, make({2, 3}), make({2, 4}))},
      {"log_softmax: shapes differ: (2,4) and (2,3)",
       gradient(kLogarithms, make({2, 4}), make({2, 4}))},
      {"log_softmax: logits must be (N,classes) with at least one class, not (6)",
       gradient(kLogarithms, make({6}), make({6}))},
  });
}

TEST_CASE("batch normalization refuses mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  const auto eval = [&](const Tensor& x, const Tensor& y) {
    return [&, x, y] {
      kernels::BatchNormStatistics statistics{make({3}), make({3})};
      Tensor out = y;
      kernels::batch_norm_eval(
          ctx, {x, make({3}), make({3}), {}}, make({3}), make({3}), {}, out, statistics);
    };
  };
  check_refusals({
      {"batch_norm: x must be (N,...,C) with at least one channel, not (3)",
       eval(make({3}), make({3}))},
      {"batch_norm: y is f16, x is f32", eval(make({2, 3}), make({2, 3}, DType::f16))},
      {"batch_norm: a gradient of the residual is given without a residual",
       [&] {
         kernels::BatchNormGradients out;
         out.residual.tensor = make({2, 3});
         kernels::batch_norm_backward(ctx,
                                      kernels::BatchNormPass::train,
                                      {make({2, 3}), make({3}), make({3}), {}},
                                      {make({3}), make({3})},
                                      {},
                                      make({2, 3}),
                                      out);
       }},
  });
}

TEST_CASE("layer norm refuses mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  const auto forward = [&](const Tensor& x, const Tensor& weight, const Tensor& y) {
    return [&, x, weight, y] {
      Tensor out = y;
      kernels::LayerNormStatistics statistics{make({2}), make({2})};
      kernels::layer_norm_forward(ctx, {x, weight, make({3})}, {}, out, statistics);
    };
  };
  const auto backward = [&](const Tensor& dx, const Tensor& dbias) {
    return [&, dx, dbias] {
      kernels::LayerNormGradients out{{dx}, {}, {dbias}};
      kernels::layer_norm_backward(
          ctx, {make({2, 3}), make({3}), make({3})}, {}, {make({2}), make({2})}, make({2, 3}), out);
    };
  };
  const auto uncentered = [&] {
    Tensor out = make({2, 3});
    kernels::LayerNormStatistics statistics{make({2}), make({2})};
    kernels::layer_norm_forward(
        ctx, {make({2, 3}), make({3}), make({3})}, {.centered = false}, out, statistics);
  };
  check_refusals({
      {"layer_norm: a bias is for centered rows, and needed there", uncentered},
      {"layer_norm: x must be (...,C) with at least one value per row, not (2,0)",
       forward(make({2, 0}), make({0}), make({2, 0}))},
      {"layer_norm: weight must be (3) for x (2,3), not (2)",
       forward(make({2, 3}), make({2}), make({2, 3}))},
      {"layer_norm: weight must be f32 for f16 x, not f16",
       forward(make({2, 3}, DType::f16), make({3}, DType::f16), make({2, 3}, DType::f16))},
      {"layer_norm: mean must be (3) for x (3,3), not (2)",
       forward(make({3, 3}), make({3}), make({3, 3}))},
      {"layer_norm: y has shape (3,2), x has (2,3)",
       forward(make({2, 3}), make({3}), make({3, 2}))},
      {"layer_norm: y is f16, x is f32",
       forward(make({2, 3}), make({3}), make({2, 3}, DType::f16))},
      {"layer_norm: dx is f16, x is f32", backward(make({2, 3}, DType::f16), make({3}))},
      {"layer_norm: dbias must be (3) for x (2,3), not (2)", backward(make({2, 3}), make({2}))},
  });
}

TEST_CASE("weight norm refuses mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  const auto forward = [&](const Tensor& v, const Tensor& g, const Tensor& w) {
    return [&, v, g, w] {
      Tensor out = w;
      Tensor norms = make({2});
      kernels::weight_norm_forward(ctx, {v, g}, out, norms);
    };
  };
  const auto backward = [&](const Tensor& dv, const Tensor& dg) {
    return [&, dv, dg] {
      kernels::WeightNormGradients out{{dv}, {dg}};
      kernels::weight_norm_backward(ctx, {make({2, 3}), make({2})}, make({2}), make({2, 3}), out);
    };
  };
  check_refusals({
      {"weight_norm: v must be (K,...) with at least one element, not (3)",
       forward(make({3}), make({3}), make({3}))},
      {"weight_norm: v must be (K,...) with at least one element, not (2,0)",
       forward(make({2, 0}), make({2}), make({2, 0}))},
      {"weight_norm: g has shape (3), v (2,3) has 2 rows",
       forward(make({2, 3}), make({3}), make({2, 3}))},
      {"weight_norm: g must be f32 for f16 v, not f16",
       forward(make({2, 3}, DType::f16), make({2}, DType::f16), make({2, 3}, DType::f16))},
      {"weight_norm: w has shape (3,2), v has (2,3)",
       forward(make({2, 3}), make({2}), make({3, 2}))},
      {"weight_norm: w is f16, v is f32",
       forward(make({2, 3}), make({2}), make({2, 3}, DType::f16))},
      {"weight_norm: dv is f16, v is f32", backward(make({2, 3}, DType::f16), make({2}))},
      {"weight_norm: dg has shape (3), v (2,3) has 2 rows", backward(make({2, 3}), make({3}))},
  });
}

TEST_CASE("pooling refuses mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  const auto max = [&](const Tensor& x, const Tensor& y, const Tensor& winner) {
    return [&ctx, x, y, winner] {
      Tensor out = y;
      Tensor places = winner;
      kernels::max_pool2d_forward(ctx, Pool2dOptions::square(2, 2), x, out, places);
    };
  };
  const Tensor x = make({1, 4, 4, 2});
  const Tensor y = make({1, 2, 2, 2});
  const Tensor winner = make({1, 2, 2, 2}, DType::u8);
  check_refusals({
      {"pool: x must be (N,H,W,C), not (4,4,2)", max(make({4, 4, 2}), y, winner)},
      {"max_pool2d: expected shape (1,2,2,2), got (1,4,4,2)", max(x, x, winner)},
      {"max_pool2d: dtypes differ: f32 and f16", max(x, make({1, 2, 2, 2}, DType::f16), winner)},
      {"max_pool2d: winners of this window must be u8, not i64",
       max(x, y, make({1, 2, 2, 2}, DType::i64))},
  });
}

TEST_CASE("reductions refuse mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  const auto sum = [&](const Tensor& y) {
    return [&, y] {
      Tensor out = y;
      kernels::sum(ctx, make({2, 3}), 1, out);
    };
  };
  const auto argmax = [&](const Tensor& x) {
    return [&, x] {
      Tensor index = make({3}, DType::i64);
      kernels::argmax(ctx, x, index);
    };
  };
  check_refusals({
      {"sum: the sum must have one element, not shape (2)", sum(make({2}))},
      {"sum: the sum of f32 must be f32, not f64", sum(make({1}, DType::f64))},
      {"argmax: needs rows (N,C) with C > 0, got (3,0)", argmax(make({3, 0}))},
      {"argmax: the indices must have shape (2), not (3)", argmax(make({2, 3}))},
      {"top_k: values (2,2) and indices (2,1) must both be (2,k)",
       [&] {
         Tensor values = make({2, 2});
         Tensor places = make({2, 1}, DType::i64);
         kernels::top_k(ctx, make({2, 3}), values, places);
       }},
      {"count_hits: the count must have one element, not (2)",
       [&] {
         Tensor count = make({2}, DType::i64);
         kernels::count_hits(
             ctx, make({2, 3}), make({2}, DType::i64), 1, kernels::Counted::hits, count);
       }},
  });
}

TEST_CASE("steps of an optimizer refuse mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  DeviceArray<StepControl> control(ctx.step());
  Tensor wide = make({2}, DType::f64);
  Tensor norm = make({2});
  Tensor grads = make({2});
  kernels::OptimTensors tensors{.weight = make({2}),
                                .grad = make({2}),
                                .half = {},
                                .hypers = DeviceArray<GroupHypers>(ctx.step()),
                                .control = control};
  const auto unscale = [&](const Tensor& half) {
    return [&, half] {
      kernels::unscale_to_master_grads(ctx, half, grads, control, GradMode::overwrite);
    };
  };
  check_refusals({
      {"unscale_grads: master gradients must be f32, not f64",
       [&] { kernels::unscale_grads(ctx, wide, control); }},
      {"find_non_finite: gradients are f32, f16 or bf16, got f64",
       [&] { kernels::find_non_finite(ctx, wide, control); }},
      {"l2_norm: the norm must have one element, not shape (2)",
       [&] { kernels::l2_norm(ctx, {grads}, norm); }},
      {"unscale_to_master_grads: shapes differ: (3) and (2)", unscale(make({3}, DType::f16))},
      {"unscale_to_master_grads: half gradients must be f16 or bf16, not f32", unscale(make({2}))},
      {"the gradient limit must be positive, not -1",
       [&] { kernels::clip_by_value(ctx, grads, -1, control); }},
      {"end_step: running statistics must be f32, not f64",
       [&] { kernels::end_step(ctx, wide, wide, {}, control); }},
      {"rmsprop_step: the mean square must have memory",
       [&] {
         kernels::RmsPropState none;
         kernels::rmsprop_step(ctx, tensors, none);
       }},
      {"sgd_step: shapes differ: weights (2), working copy (3)",
       [&] {
         Tensor none;
         tensors.half = make({3}, DType::f16);
         kernels::sgd_step(ctx, tensors, none, false);
       }},
      {"write_hypers: the control block is on cuda:1, the context on cpu",
       [&] {
         Arena elsewhere("other", test::other_device_pages());
         DeviceArray<GroupHypers> blocks(elsewhere);
         kernels::write_hypers(ctx, std::vector<GroupHypers>(1), blocks);
       }},
  });
}

TEST_CASE("augmentation refuses mismatched operands") {
  Operands make;
  Context& ctx = make.ctx;
  struct Batch {
    Tensor images, labels, index, x, y;
  };
  const Batch good{make({2, 4, 4, 3}, DType::u8),
                   make({2}, DType::i64),
                   make({1}, DType::i64),
                   make({1, 4, 4, 3}),
                   make({1}, DType::i64)};
  const auto augment = [&](auto change) {
    Batch batch = good;
    change(batch);
    return [&ctx, batch] {
      const AugmentPlan plan{.height = 4, .width = 4, .out_height = 4, .out_width = 4};
      Tensor x = batch.x;
      Tensor y = batch.y;
      kernels::augment(ctx, plan, {batch.images, batch.labels}, batch.index, 1, 1, x, y);
    };
  };
  CHECK_NOTHROW(augment([](Batch&) {})());
  check_refusals({
      {"augment: images (2,48), index (1) and result (1,4,4,3) must have 4, 1 and 4 dimensions",
       augment([&](Batch& b) {
         b.images = make({2, 48}, DType::u8);
       })},
      {"augment: a result of 2 channels from images of 3; they may have up to 16",
       augment([&](Batch& b) {
         b.x = make({1, 4, 4, 2});
       })},
      {"augment: images are (2,5,4,3), not (2,4,4,3)", augment([&](Batch& b) {
         b.images = make({2, 5, 4, 3}, DType::u8);
       })},
      {"augment: targets must be i64 or f32, not f16",
       augment([&](Batch& b) { b.labels = make({2}, DType::f16); })},
      {"augment: targets (2) for 2 images", augment([&](Batch& b) { b.labels = make({2}); })},
      {"augment: targets of the batch must be i64, not f32",
       augment([&](Batch& b) { b.y = make({1}); })},
      {"augment: results must be f32, f16 or bf16, not f64", augment([&](Batch& b) {
         b.x = make({1, 4, 4, 3}, DType::f64);
       })},
      {"augment: a batch of 1 from an empty data set", augment([&](Batch& b) {
         b.images = make({0, 4, 4, 3}, DType::u8);
         b.labels = make({0}, DType::i64);
       })},
  });
}
