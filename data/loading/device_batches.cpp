#include "data/loading/device_batches.h"

#include "data/loading/device_plan.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/kernels/common/padded_channels.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>

namespace learn::data {
namespace {

/// Returns (N) i64 or (N,K) f32.
Tensor targets_of(const Dataset& dataset) {
  if (dataset.target_kind == TargetKind::classes)
    return borrowed<std::int64_t>({dataset.size()}, dataset.labels);
  return borrowed<float>({dataset.size(), static_cast<std::int64_t>(dataset.classes.size())},
                         dataset.targets);
}

}  // namespace
std::unique_ptr<DeviceBatches> DeviceBatches::make(Context& ctx,
                                                   const Dataset& dataset,
                                                   const LoaderOptions& options,
                                                   const PassOrder& order) {
  if (!ctx.device().is_cuda() || !options.resident) return nullptr;
  if (dataset.source != nullptr) return nullptr;
  const auto plan = device_plan(options.transforms, options.normalization, dataset.form());
  if (!plan.has_value()) return nullptr;
  try {
    return std::unique_ptr<DeviceBatches>(new DeviceBatches(ctx, dataset, options, order, *plan));
  } catch (const OutOfMemoryError& error) {
    log::warn("[data] '{}' stays on the host: {}", dataset.name, error.what());
    return nullptr;
  }
}

DeviceBatches::DeviceBatches(Context& ctx,
                             const Dataset& dataset,
                             const LoaderOptions& options,
                             const PassOrder& order,
                             const AugmentPlan& plan)
    : ctx_(ctx),
      seed_(options.seed),
      plan_(plan),
      padding_(options.pad_channels && is_half(options.dtype)
                   ? padded_half_channels(plan.channels) - plan.channels
                   : 0) {
  const std::int64_t samples = dataset.size();
  const std::int64_t size = std::min(options.batch_size, order.size());
  Arena& arena = ctx.persistent();
  x_ = Tensor(
      arena, {size, plan.out_height, plan.out_width, plan.channels + padding_}, options.dtype);
  const Tensor targets = targets_of(dataset);
  Shape of_batch = targets.shape();
  of_batch.set(0, size);
  y_ = Tensor(arena, of_batch, targets.dtype());
  order_ = Tensor(arena, {order.size()}, DType::i64);
  source_.targets = to_device(ctx, arena, targets);
  source_.images =
      to_device(ctx,
                arena,
                borrowed<std::uint8_t>({samples, dataset.height, dataset.width, dataset.channels},
                                       dataset.pixels));
  source_.repeats = order.repeats();
}

void DeviceBatches::begin(const std::vector<std::int64_t>& draws) {
  const Tensor host = borrowed<std::int64_t>(order_.shape(), draws);
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
