// Template instances of kernels that no op case reaches: each has to run somewhere before the
// ledger can hold it.
#include "framework/kernels/activation/activation.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/pool/pool.h"
#include "framework/runtime/transfer.h"
#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

using namespace learn;

namespace {

void check_same(Context& cuda, const Tensor& device, const Tensor& host) {
  const Comparison result = same_bits(to_host(cuda, device), host);
  CHECK_MESSAGE(result.equal, result.text);
}

}  // namespace

TEST_CASE("casts on a device add to what is there, from every type to every type") {
  Context cuda(test::on_cuda());
  Context oracle({.threads = 1, .reference = true});
  for (const DType from : {DType::f32, DType::f16, DType::bf16})
    for (const DType to : {DType::f32, DType::f16, DType::bf16}) {
      CAPTURE(name_of(from));
      CAPTURE(name_of(to));
      Tensor sums[2];
      Context* const contexts[] = {&cuda, &oracle};
      for (int i = 0; i < 2; ++i) {
        // Multiples of 1/8 below 4: their sums are exact in every type.
        const std::vector<double> x{0.125, -1, 2.5, 3.875, -0.25, 0, 1.125, -3.5, 0.5};
        sums[i] = test::put_full(*contexts[i], {9}, to, 0.75);
        kernels::cast(*contexts[i],
                      test::put_values(*contexts[i], {9}, x, from),
                      sums[i],
                      GradMode::accumulate);
      }
      check_same(cuda, sums[0], sums[1]);
    }
}

TEST_CASE("max pool on a device: a window of more than 256 elements, with and without packs") {
  Context cuda(test::on_cuda());
  Context oracle({.threads = 1, .reference = true});
  const Pool2dOptions window{.window_h = 17, .window_w = 16, .stride_h = 1, .stride_w = 1};
  for (const std::int64_t channels : {3, 4, 8})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      CAPTURE(channels);
      CAPTURE(name_of(dtype));
      const Shape shape{1, 18, 16, channels};
      const Shape pooled = kernels::pooled_shape(shape, window);
      Tensor y[2];
      Tensor winner[2];
      Tensor dx[2];
      Context* const contexts[] = {&cuda, &oracle};
      for (int i = 0; i < 2; ++i) {
        Context& ctx = *contexts[i];
        const Tensor x = test::put_uniform(ctx, shape, dtype, -1, 1, 1);
        y[i] = ctx.empty(pooled, dtype);
        winner[i] = ctx.empty(pooled, DType::i32);
        kernels::max_pool2d_forward(ctx, window, x, y[i], winner[i]);
        dx[i] = ctx.empty(shape, dtype);
        const Tensor dy = test::put_full(ctx, pooled, dtype, 1);
        kernels::max_pool2d_backward(ctx, window, winner[i], dy, dx[i], GradMode::overwrite);
      }
      check_same(cuda, y[0], y[1]);
      check_same(cuda, winner[0], winner[1]);
      check_same(cuda, dx[0], dx[1]);
    }
}

TEST_CASE("the identity as an activation on a device") {
  Context cuda(test::on_cuda());
  Context oracle({.threads = 1, .reference = true});
  const auto identity = ActivationKind::identity();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate}) {
      CAPTURE(name_of(dtype));
      Tensor y[2];
      Tensor dx[2];
      Context* const contexts[] = {&cuda, &oracle};
      for (int i = 0; i < 2; ++i) {
        Context& ctx = *contexts[i];
        const Tensor x = test::put_uniform(ctx, {21}, dtype, -1, 1, 1);
        y[i] = ctx.empty({21}, dtype);
        kernels::activation_forward(ctx, identity, x, y[i]);
        // Halves add up exactly.
        const Tensor dy = test::put_full(ctx, {21}, dtype, 0.5);
        dx[i] = test::put_full(ctx, {21}, dtype, 1.5);
        kernels::activation_backward(ctx, identity, x, dy, dx[i], mode);
      }
      check_same(cuda, y[0], y[1]);
      check_same(cuda, dx[0], dx[1]);
    }
}

TEST_CASE("columns on a device: parts, rows and pitch of whole packs, and one that is not") {
  Context cuda(test::on_cuda());
  Context oracle({.threads = 1, .reference = true});
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t columns : {16, 12})
      for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate}) {
        CAPTURE(name_of(dtype));
        CAPTURE(columns);
        Tensor whole[2];
        Tensor part[2];
        Context* const contexts[] = {&cuda, &oracle};
        for (int i = 0; i < 2; ++i) {
          Context& ctx = *contexts[i];
          const Tensor x = test::put_uniform(ctx, {5, columns}, dtype, -1, 1, 1);
          whole[i] = test::put_full(ctx, {5, columns + 8}, dtype, 7);
          kernels::copy_into_columns(ctx, x, whole[i], 5, 8);
          part[i] = test::put_full(ctx, {5, columns}, dtype, 1);
          kernels::copy_from_columns(ctx, whole[i], part[i], 5, 8, mode);
        }
        check_same(cuda, whole[0], whole[1]);
        check_same(cuda, part[0], part[1]);
      }
}
