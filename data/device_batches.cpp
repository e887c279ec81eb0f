#include "data/device_batches.h"

#include "data/device_plan.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>

namespace learn::data {
namespace {

constexpr std::int64_t kColours = 3;

}  // namespace

std::unique_ptr<DeviceBatches> DeviceBatches::make(Context& ctx,
                                                   const Dataset& dataset,
                                                   const LoaderOptions& options) {
  if (!ctx.device().is_cuda() || !options.resident) return nullptr;
  if (dataset.target_kind != TargetKind::classes) return nullptr;
  const auto plan =
      device_plan(options.transforms, options.normalization, dataset.height, dataset.width);
  if (!plan.has_value()) return nullptr;
  try {
    return std::unique_ptr<DeviceBatches>(new DeviceBatches(ctx, dataset, options, *plan));
  } catch (const OutOfMemoryError& error) {
    log::warn("[data] '{}' stays on the host: {}", dataset.name, error.what());
    return nullptr;
  }
}

DeviceBatches::DeviceBatches(Context& ctx,
                             const Dataset& dataset,
                             const LoaderOptions& options,
                             const AugmentPlan& plan)
    : ctx_(ctx),
      seed_(options.seed),
      plan_(plan),
      padding_(options.pad_channels && is_half(options.dtype)
                   ? padded_half_channels(kColours) - kColours
                   : 0) {
  const std::int64_t samples = dataset.size();
  const std::int64_t size = std::min(options.batch_size, samples);
  Arena& arena = ctx.persistent();
  x_ = Tensor(arena, {size, plan.out_height, plan.out_width, kColours + padding_}, options.dtype);
  y_ = Tensor(arena, {size}, DType::i64);
  order_ = Tensor(arena, {samples}, DType::i64);
  source_.labels = to_device(ctx, arena, borrowed<std::int64_t>({samples}, dataset.labels));
  source_.images = to_device(
      ctx,
      arena,
      borrowed<std::uint8_t>({samples, dataset.height, dataset.width, 3}, dataset.pixels));
}

void DeviceBatches::begin(const std::vector<std::int64_t>& order) {
  const Tensor host = borrowed<std::int64_t>(order_.shape(), order);
  copy(ctx_, to_device(ctx_, ctx_.step(), host), order_);
}

void DeviceBatches::fill(std::int64_t first, std::int64_t count, std::int64_t epoch, Batch& batch) {
  batch.x = x_.rows(0, count);
  batch.padding = padding_;
  batch.y = y_.rows(0, count);
  kernels::augment(ctx_,
                   plan_,
                   source_,
                   order_.range(first, count),
                   seed_,
                   static_cast<std::uint64_t>(epoch),
                   batch.x,
                   batch.y);
}

}  // namespace learn::data
