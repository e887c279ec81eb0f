#include "framework/runtime/uploads.h"

#include "framework/core/device.h"
#include "framework/core/log.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/cuda/upload_slot.h"

#include <utility>

namespace learn {

std::unique_ptr<Arena> make_upload_arena(Context& ctx, std::string name) {
  if constexpr (kHaveCuda)
    if (ctx.device().is_cuda())
      return std::make_unique<Arena>(
          std::move(name), cuda::pinned_pages(ctx.device().index), ArenaOptions{.exact = true});
  return std::make_unique<Arena>(std::move(name), cpu_pages());
}

Uploads::Uploads(Context& ctx, const Tensor& x, const Tensor& y) : ctx_(ctx) {
  check<DeviceError>(ctx.device().is_cuda(), "nothing can be uploaded to {}", ctx.device());
  for (Slot& slot : slots_) {
    slot.x = Tensor(ctx.persistent(), x.shape(), x.dtype());
    slot.y = Tensor(ctx.persistent(), y.shape(), y.dtype());
    if constexpr (kHaveCuda) {
      slot.order = std::make_shared<cuda::UploadSlot>(ctx.cuda());
      slot.order->release();  // by the previous user of the memory
    }
  }
}

Uploads::~Uploads() {
  try {
    wait();
  } catch (const Error& error) {
    log::error("[data] the last batch did not reach {}: {}", ctx_.device(), error.what());
  }
}

Uploads::Pair Uploads::bring(const Tensor& x, const Tensor& y, std::int64_t number) {
  Slot& slot = slots_[static_cast<std::size_t>(number) % slots_.size()];
  Pair there{slot.x.rows(0, x.shape()[0]), slot.y.rows(0, y.shape()[0])};
  for (const auto& [from, to] : {std::pair{&x, &there.x}, std::pair{&y, &there.y}})
    check(from->shape() == to->shape() && from->dtype() == to->dtype(),
          "an upload of {} {} was prepared, not of {} {}",
          to->dtype(),
          to->shape(),
          from->dtype(),
          from->shape());
  if constexpr (kHaveCuda) {
    if (last_ != nullptr) last_->order->release();
    last_ = &slot;
    slot.order->copy(there.x.raw(), x.raw(), x.bytes());
    slot.order->copy(there.y.raw(), y.raw(), y.bytes());
    slot.order->publish();
  }
  return there;
}

void Uploads::wait() {
  if constexpr (kHaveCuda)
    if (last_ != nullptr) last_->order->wait();
}

}  // namespace learn
