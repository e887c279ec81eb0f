// Heads are padded inside the backend (ADR 0010): the loss uses only the existing classes, whatever
// the scratch memory of the padding contains.
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/common/cuda/pad_channels.h"
#include "framework/kernels/loss/softmax_cross_entropy.h"
#include "framework/kernels/product/linear.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/transfer.h"
#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace learn;

namespace {

constexpr std::int64_t kSamples = 6;
constexpr std::int64_t kFeatures = 12;  // padded to 16 as well

/// Every byte of the arena's first slab, which all scratch memory of a small step comes from.
void poison_step_memory(Context& ctx, int byte) {
  Tensor all = ctx.empty({(std::int64_t{2} << 20) - 4096}, DType::u8);
  kernels::fill(ctx, all, byte);
}

/// A head, its loss and all gradients, on the host.
std::vector<Tensor> head(DType dtype, std::int64_t classes, int poison) {
  Context ctx({.device = Device::cuda()});
  const auto drawn = [&](const Shape& shape, DType type, std::uint64_t stream) {
    return test::put_uniform(ctx, shape, type, -1, 1, 5, stream);
  };
  const Tensor x = drawn({kSamples, kFeatures}, dtype, 1);
  const Tensor w = drawn({classes, kFeatures}, dtype, 2);
  const Tensor bias = drawn({classes}, dtype, 3);
  const Tensor labels = test::put_values(
      ctx, {kSamples}, {0, 1, 2, 3, 4, static_cast<double>(classes - 1)}, DType::i64);
  Tensor loss = test::put_full(ctx, {}, DType::f32, 0);
  Tensor slope = test::put_full(ctx, {kSamples, classes}, DType::f32, 0);
  Tensor dx = test::put_full(ctx, x.shape(), dtype, 0);
  Tensor dw = test::put_full(ctx, w.shape(), dtype, 0);
  Tensor db = test::put_full(ctx, bias.shape(), dtype, 0);
  Tensor logits = test::put_full(ctx, slope.shape(), dtype, 0);
  Tensor dlogits = test::put_full(ctx, slope.shape(), dtype, 0);
  const Tensor seed = test::put_full(ctx, {}, DType::f32, 1);

  const auto poisoned = [&] { poison_step_memory(ctx, poison); };
  poisoned();
  kernels::linear_forward(ctx, x, w, bias, logits);
  poisoned();
  kernels::softmax_cross_entropy(ctx, logits, labels, 0.1F, loss, slope);
  poisoned();
  kernels::softmax_cross_entropy_backward(ctx, slope, seed, dlogits, GradMode::overwrite);
  poisoned();
  kernels::linear_backward_data(ctx, dlogits, w, dx, GradMode::overwrite);
  poisoned();
  kernels::linear_backward_parameters(
      ctx, x, dlogits, dw, GradMode::overwrite, db, GradMode::overwrite);
  std::vector<Tensor> out;
  for (const Tensor* tensor : {&logits, &loss, &slope, &dx, &dw, &db})
    out.push_back(to_host(ctx, *tensor));
  return out;
}

}  // namespace

TEST_CASE("a head of ten classes has the same loss and gradients whatever the padding contains") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32})
    for (const std::int64_t classes : {10, 16}) {
      CAPTURE(std::string(name_of(dtype)));
      CAPTURE(classes);
      const std::vector<Tensor> clean = head(dtype, classes, 0);
      CHECK(std::isfinite(get(clean[1], 0)));
      for (const int poison : {0xFF, 0x7B}) {  // NaN; near the largest number of f16
        const std::vector<Tensor> dirty = head(dtype, classes, poison);
        for (std::size_t i = 0; i < clean.size(); ++i) {
          CAPTURE(i);
          const Comparison same = same_bits(dirty[i], clean[i]);
          CHECK_MESSAGE(same.equal, same.text);
        }
      }
    }
}

TEST_CASE("results come back from padded rows without the padding") {
  Context ctx({.device = Device::cuda()});
  for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate}) {
    std::vector<double> rows;
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 16; ++c) rows.push_back(c < 10 ? r * 10 + c : std::nan(""));
    const Tensor padded = test::put_values(ctx, {3, 16}, rows, DType::f16);
    Tensor y = test::put_full(ctx, {3, 10}, DType::f16, mode == GradMode::accumulate ? 100 : NAN);
    cuda::unpad_channels(
        ctx.cuda().compute(), padded.data<Half>(), 3, 16, y.data<Half>(), 10, mode);
    const Tensor host = to_host(ctx, y);
    for (std::int64_t i = 0; i < 30; ++i)
      CHECK(get(host, i) == static_cast<double>(i) + (mode == GradMode::accumulate ? 100 : 0));
  }
}
