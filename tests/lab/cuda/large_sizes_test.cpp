// Sizes that do not fit into memory. These tests prove that a grid beyond 2^31 - 1 blocks, which a
// launch would take modulo 2^32 or refuse without naming its size, is a DeviceError with the
// operation's name before anything runs (nothing does: the pointers are null). Bounded grids, those
// of sums and of optimizers, cannot become that large.
// That threads are numbered in 64 bits up to that limit is checked in the kernels' PTX, by
// tests/lab/gpu/index_width.py; that results are right beyond 2^31 elements is left to a real GPU.
#include "framework/core/dtype.h"
#include "framework/core/error.h"
#include "framework/kernels/activation/activation_kernels.h"
#include "framework/kernels/augment/augment_kernels.h"
#include "framework/kernels/cast/cast_kernels.h"
#include "framework/kernels/common/cuda/bias.h"
#include "framework/kernels/common/cuda/pad_channels.h"
#include "framework/kernels/elementwise/elementwise_kernels.h"
#include "framework/kernels/loss/loss_kernels.h"
#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/kernels/optim/ema_kernels.h"
#include "framework/kernels/pool/pool_kernels.h"
#include "framework/kernels/reduce/reduce_kernels.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/cuda_options.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>

using namespace learn;

namespace {

/// Claims any number of bytes, without memory.
class Promises final : public PageSource {
 public:
  void* allocate(std::size_t) override { return this; }
  void release(void*, std::size_t) noexcept override {}
  [[nodiscard]] Device device() const noexcept override { return Device::cuda(); }
};

/// An executor whose workspace is as large as anyone asks for.
struct Executor {
  CudaOptions options;
  cuda::Runtime runtime{0};
  Arena workspace{"promises", std::make_unique<Promises>(), {.exact = true}};
  cuda::Exec exec{runtime.compute(), workspace, options, runtime};
};

constexpr std::int64_t kMany = std::int64_t{1} << 43;  // 2^33 blocks even with 8 elements a thread
constexpr const float* kRead = nullptr;
float* const kWritten = nullptr;
const Half* const kHalf = nullptr;
Half* const kHalfWritten = nullptr;

}  // namespace

#define LEARN_CHECK_REFUSED(name, call) \
  CHECK_THROWS_WITH_AS(call, doctest::Contains(name ": "), DeviceError)

TEST_CASE("elementwise kernels refuse sizes they cannot count") {
  constexpr auto kMode = GradMode::overwrite;
  const Executor executor;
  const cuda::Exec& exec = executor.exec;
  LEARN_CHECK_REFUSED("add", cuda::add(exec, kRead, kRead, kWritten, kMany));
  LEARN_CHECK_REFUSED("add", cuda::add(exec, kHalf, kHalf, kHalfWritten, kMany));
  LEARN_CHECK_REFUSED("multiply", cuda::multiply(exec, kRead, kRead, kWritten, kMode, kMany));
  LEARN_CHECK_REFUSED("scale", cuda::scale(exec, kRead, 2.0F, kWritten, kMode, kMany));
  LEARN_CHECK_REFUSED("dropout",
                      cuda::dropout(exec, {.seed = 1, .p = 0.5}, kRead, kWritten, kMode, kMany));
  LEARN_CHECK_REFUSED("add_bias", cuda::add_bias(exec, kRead, kRead, kWritten, kMany, 1024));
  LEARN_CHECK_REFUSED("activation_forward",
                      cuda::activation_forward(exec, {}, kRead, kWritten, kMany));
  LEARN_CHECK_REFUSED("activation_backward",
                      cuda::activation_backward(exec, {}, kRead, kRead, kWritten, kMode, kMany));
  LEARN_CHECK_REFUSED("cast", cuda::cast(exec, kRead, kHalfWritten, kMode, kMany));
  LEARN_CHECK_REFUSED("fill", cuda::fill(exec, static_cast<std::uint32_t*>(nullptr), 1U, kMany));
  LEARN_CHECK_REFUSED("ema_update", cuda::ema_update(exec, kRead, {}, nullptr, kWritten, kMany));
  LEARN_CHECK_REFUSED("copy_columns",
                      cuda::copy_into_columns(exec, kRead, kWritten, {kMany, 1024, 2048, 0}));
  LEARN_CHECK_REFUSED("pad_channels", cuda::pad_channels(exec, kHalf, kMany, 10, kHalfWritten, 16));
  LEARN_CHECK_REFUSED("unpad_channels",
                      cuda::unpad_channels(exec, kHalf, kMany, 16, kHalfWritten, 10, kMode));
}

TEST_CASE("kernels with a warp or a block per row refuse sizes they cannot count") {
  constexpr auto kMode = GradMode::overwrite;
  std::int64_t* const index = nullptr;
  const Executor executor;
  const cuda::Exec& exec = executor.exec;
  const kernels::CrossEntropyTarget<float> target{
      .samples = kMany, .classes = 10, .labels = index, .weights = nullptr, .smoothing = 0};
  LEARN_CHECK_REFUSED("softmax_cross_entropy",
                      cuda::softmax_cross_entropy(exec, kRead, target, kWritten, kWritten));
  LEARN_CHECK_REFUSED("softmax", cuda::softmax(exec, kRead, kMany, 10, kWritten));
  LEARN_CHECK_REFUSED("log_softmax", cuda::log_softmax(exec, kRead, kMany, 10, kWritten));
  LEARN_CHECK_REFUSED(
      "softmax_backward",
      cuda::softmax_backward(
          exec, kernels::SoftmaxForm::probabilities, kRead, kRead, kMany, 10, kWritten, kMode));
  LEARN_CHECK_REFUSED("argmax", cuda::argmax(exec, kRead, index, kMany, 10));
  LEARN_CHECK_REFUSED("top_k", cuda::top_k(exec, kRead, kWritten, index, kMany, 10, 2));
  LEARN_CHECK_REFUSED(
      "count_hits",
      cuda::count_hits(exec,
                       kRead,
                       {.classes = index, .weights = nullptr, .rows = kMany, .columns = 10},
                       1,
                       false,
                       index));
  kernels::AugmentBatch batch{};
  std::uint32_t* const words = nullptr;
  batch.batch = kMany;
  LEARN_CHECK_REFUSED("augment", cuda::augment(exec, AugmentPlan{}, batch, 3, kWritten, words));
}

TEST_CASE("pools refuse axes beyond 32 bits and grids beyond the launch") {
  const Executor executor;
  const auto forward = [&](std::int64_t n, std::int64_t side, std::int64_t channels) {
    const kernels::PoolSizes sizes{.n = n,
                                   .h = side,
                                   .w = side,
                                   .c = channels,
                                   .p = side / 2,
                                   .q = side / 2,
                                   .options = Pool2dOptions::square(2, 2)};
    cuda::avg_pool2d_forward(executor.exec, sizes, kRead, kWritten);
  };
  LEARN_CHECK_REFUSED("pool", forward(1, std::int64_t{1} << 32, 1));
  LEARN_CHECK_REFUSED("pool", forward(kMany, 2, 1));
  LEARN_CHECK_REFUSED("pool", forward(1, 1 << 16, 1 << 20));  // a row of an image
  LEARN_CHECK_REFUSED("avg_pool_forward", forward(1 << 30, 4, 8));
}

TEST_CASE("batch norm refuses sizes it cannot count") {
  const Executor executor;
  kernels::BatchNormApplyArgs<float> args{};
  args.rows = kMany;
  args.channels = 1024;
  LEARN_CHECK_REFUSED("batch_norm_apply", cuda::batch_norm_apply(executor.exec, args));
}
