#include "framework/kernels/cast/fill.h"
#include "framework/kernels/common/bias.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/loss/softmax_cross_entropy.h"
#include "framework/kernels/norm/batch_norm.h"
#include "framework/kernels/optim/optim.h"
#include "framework/kernels/pool/pool.h"
#include "framework/kernels/reduce/reduce.h"
#include "framework/kernels/reduce/reduce_axes.h"
#include "framework/runtime/cuda/runtime.h"
#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace learn;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The CUDA implementation and its judge.
struct Pair {
  Context cuda{test::on_cuda()};
  Context oracle{{.threads = 1, .reference = true}};

  void same(const Tensor& device, const Tensor& host) {
    const Comparison result = same_bits(to_host(cuda, device), host);
    CHECK_MESSAGE(result.equal, result.text);
  }
  void close(const Tensor& device, const Tensor& host, double tolerance) {
    const Comparison result = all_close(to_host(cuda, device), host, tolerance, tolerance);
    CHECK_MESSAGE(result.equal, result.text);
  }
};

/// A view that starts one element into its memory: no pack may be loaded from it.
Tensor shifted(Context& ctx, const Shape& shape, DType dtype, std::uint64_t seed) {
  return test::put_uniform(ctx, {shape.elements() + 1}, dtype, -1, 1, seed)
      .range(1, shape.elements())
      .view(shape);
}

}  // namespace

TEST_CASE("max pool on a device: ties, NaN and infinities choose the reference's winners") {
  Pair pair;
  std::vector<double> values{1, 1, 0, kNan, 2, kNan, kInf, -kInf, -kInf, -kInf, -0.0, 0.0};
  for (int i = 12; i < 4 * 4 * 8; ++i)
    values.push_back(values[static_cast<std::size_t>(i * 7 % 12)]);
  for (const std::int64_t channels : {1, 3, 8})
    for (const DType dtype : {DType::f32, DType::f16})
      for (const auto& options : {Pool2dOptions::square(2, 2), Pool2dOptions::square(3, 1, 1)}) {
        CAPTURE(channels);
        const Shape shape{1, 4, 4, channels};
        const std::vector<double> used(values.begin(), values.begin() + 16 * channels);
        const Shape pooled = kernels::pooled_shape(shape, options);
        Tensor y[2];
        Tensor winner[2];
        Context* const contexts[] = {&pair.cuda, &pair.oracle};
        for (int i = 0; i < 2; ++i) {
          y[i] = contexts[i]->empty(pooled, dtype);
          winner[i] = contexts[i]->empty(pooled, DType::u8);
          const Tensor x = test::put_values(*contexts[i], shape, used, dtype);
          kernels::max_pool2d_forward(*contexts[i], options, x, y[i], winner[i]);
        }
        pair.close(y[0], y[1], 0);
        pair.same(winner[0], winner[1]);
      }
}

TEST_CASE("batch norm on a device: a mean a thousand deviations away costs few digits") {
  Pair pair;
  const Shape shape{300, 5};
  const auto run = [&](Context& ctx) {
    const Tensor x = test::put_uniform(ctx, shape, DType::f32, 1000, 1001, 3);
    kernels::BatchNormStatistics statistics{ctx.empty({5}, DType::f32), ctx.empty({5}, DType::f32)};
    Tensor mean = test::put_full(ctx, {5}, DType::f32, 0);
    Tensor var = test::put_full(ctx, {5}, DType::f32, 1);
    Tensor y = ctx.empty(shape, DType::f32);
    kernels::batch_norm_train(ctx,
                              {.x = x,
                               .weight = test::put_full(ctx, {5}, DType::f32, 1),
                               .bias = test::put_full(ctx, {5}, DType::f32, 0)},
                              mean,
                              var,
                              {},
                              y,
                              statistics);
    return std::vector<Tensor>{statistics.mean, statistics.rstd, mean, var};
  };
  const std::vector<Tensor> got = run(pair.cuda);
  const std::vector<Tensor> expected = run(pair.oracle);
  // The values themselves are rounded at 2^-14: a deviation of 0.3 keeps some 12 bits of each, and
  // 300 of them more together.
  for (std::size_t i = 0; i < 4; ++i) pair.close(got[i], expected[i], 2e-6);
}

TEST_CASE("operands that are not aligned take the elementwise path, to the same result") {
  Pair pair;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    Tensor sums[2];
    Tensor biased[2];
    Tensor pooled[2];
    Tensor summed[2];
    Context* const contexts[] = {&pair.cuda, &pair.oracle};
    for (int i = 0; i < 2; ++i) {
      Context& ctx = *contexts[i];
      const Shape shape{2, 4, 4, 8};
      const Tensor a = shifted(ctx, shape, dtype, 1);
      const Tensor b = test::put_uniform(ctx, shape, dtype, -1, 1, 2);
      const Tensor bias = shifted(ctx, {8}, dtype, 3);
      sums[i] = ctx.empty(shape, dtype);
      biased[i] = ctx.empty(shape, dtype);
      pooled[i] = ctx.empty({2, 2, 2, 8}, dtype);
      summed[i] = ctx.empty({8}, dtype);
      kernels::add(ctx, a, b, sums[i]);
      kernels::add_bias(ctx, b, bias, biased[i]);
      kernels::avg_pool2d_forward(ctx, Pool2dOptions::square(2, 2), a, pooled[i]);
      kernels::bias_backward(ctx, a, summed[i], GradMode::overwrite);
    }
    pair.same(sums[0], sums[1]);
    pair.same(biased[0], biased[1]);
    // Sums of four and of 32: the order of the additions may show in the last place.
    const double unit = dtype == DType::f32 ? 1e-6 : dtype == DType::f16 ? 1e-3 : 8e-3;
    pair.close(pooled[0], pooled[1], unit);
    pair.close(summed[0], summed[1], unit);
  }
}

TEST_CASE("empty tensors cause neither work nor errors on a device") {
  Context ctx(test::on_cuda());
  Tensor none = ctx.empty({0, 4}, DType::f32);
  const Tensor vector = test::put_full(ctx, {4}, DType::f32, 1);
  kernels::add(ctx, none, none, none);
  kernels::scale(ctx, none, 2, none);
  kernels::add_bias(ctx, none, vector, none);
  kernels::fill(ctx, none, 1);
  Tensor sum = ctx.empty({1}, DType::f32);
  kernels::sum(ctx, none, 1, sum);
  CHECK(test::fetch(ctx, sum, 0) == 0);
  Tensor bias = test::put_full(ctx, {4}, DType::f32, 5);
  kernels::bias_backward(ctx, none, bias, GradMode::overwrite);
  CHECK(test::fetch(ctx, bias, 3) == 0);
  Tensor index = ctx.empty({0}, DType::i64);
  kernels::argmax(ctx, none, index);
  Tensor count = test::put_full(ctx, {1}, DType::i64, 0);
  kernels::count_hits(ctx, none, index, 1, kernels::Counted::misses, count);
  CHECK(test::fetch(ctx, count, 0) == 0);
  kernels::softmax(ctx, none, none);
  kernels::log_softmax(ctx, none, none);
  kernels::softmax_backward(
      ctx, kernels::SoftmaxForm::probabilities, none, none, none, GradMode::overwrite);
  Tensor x = ctx.empty({0, 4, 4, 3}, DType::f32);
  Tensor y = ctx.empty({0, 2, 2, 3}, DType::f32);
  kernels::avg_pool2d_forward(ctx, Pool2dOptions::square(2, 2), x, y);
  kernels::BatchNormStatistics statistics{ctx.empty({4}, DType::f32), ctx.empty({4}, DType::f32)};
  Tensor normalized = ctx.empty({0, 4}, DType::f32);
  kernels::batch_norm_eval(ctx,
                           {.x = none, .weight = vector, .bias = vector},
                           vector,
                           vector,
                           {},
                           normalized,
                           statistics);
  Tensor empty = ctx.empty({0}, DType::f32);
  Tensor state = ctx.empty({0}, DType::f32);
  kernels::sgd_step(ctx,
                    {.weight = empty,
                     .grad = empty,
                     .hypers = test::put_block(ctx, GroupHypers{}),
                     .control = test::put_block(ctx, StepControl{})},
                    state,
                    false);
  ctx.cuda().synchronize();
}

TEST_CASE("reductions on a device: few results are joined from parts, in every layout") {
  struct Sizes {
    Shape x, y;
  };
  // Results that fill a block, that do not; parts of equal and of unequal size; one row, none.
  const Sizes all[] = {{{5003, 3}, {1, 3}},
                       {{3000, 40}, {1, 40}},
                       {{2, 2001, 7}, {2, 1, 7}},
                       {{1, 4099}, {1, 1}},
                       {{300, 10}, {300, 1}},
                       {{3, 257, 33}, {1, 257, 33}},
                       {{1, 2, 300}, {1, 1, 300}},
                       {{0, 9}, {1, 9}}};
  Pair pair;
  for (const Sizes& sizes : all)
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const auto reduction :
           {kernels::Reduction::sum, kernels::Reduction::max, kernels::Reduction::min}) {
        if (sizes.x.elements() == 0 && reduction != kernels::Reduction::sum) continue;
        CAPTURE(to_string(sizes.x));
        CAPTURE(std::string(name_of(dtype)));
        CAPTURE(static_cast<int>(reduction));
        const double factor = reduction == kernels::Reduction::sum ? 0.5 : 1;
        Tensor y[2];
        Context* const contexts[] = {&pair.cuda, &pair.oracle};
        for (int i = 0; i < 2; ++i) {
          const Tensor x = test::put_uniform(*contexts[i], sizes.x, dtype, -1, 1, 11);
          y[i] = contexts[i]->empty(sizes.y, DType::f32);
          kernels::reduce_axes(*contexts[i], reduction, x, factor, y[i]);
        }
        // Sums of up to 5003 terms below 1, each rounded in f32 relative to a sum of that size.
        pair.close(y[0], y[1], reduction == kernels::Reduction::sum ? 5003 * 6e-8 : 0);
      }
}

TEST_CASE("reductions on a device: NaN stays, in whichever part it is") {
  Pair pair;
  for (const std::int64_t place : {0, 1, 63, 64, 4097, 5002})
    for (const auto reduction :
         {kernels::Reduction::sum, kernels::Reduction::max, kernels::Reduction::min}) {
      CAPTURE(place);
      std::vector<double> values(5003, -1);
      values[static_cast<std::size_t>(place)] = kNan;
      const Tensor x = test::put_values(pair.cuda, {5003, 1}, values, DType::f32);
      Tensor y = pair.cuda.empty({1, 1}, DType::f32);
      kernels::reduce_axes(pair.cuda, reduction, x, 1, y);
      CHECK(std::isnan(get(to_host(pair.cuda, y), 0)));
    }
}
