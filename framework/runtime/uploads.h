#pragma once
#include "framework/runtime/context.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace learn {

namespace cuda {
class UploadSlot;
}

/// Host memory that batches are prepared in. For a CUDA device it is pinned, so that the device
/// fetches from it by itself; each block is an allocation of its own. Throws OutOfMemoryError when
/// it is used up.
[[nodiscard]] std::unique_ptr<Arena> make_upload_arena(Context& ctx, std::string name);

/// Brings batches from host memory to a CUDA device while it computes: batch n travels during the
/// work of batch n - 1, and nobody waits for it but the device.
class Uploads {
 public:
  /// `x` and `y` have shapes and dtypes of the largest batch. Throws DeviceError on a CPU context,
  /// OutOfMemoryError.
  Uploads(Context& ctx, const Tensor& x, const Tensor& y);
  /// Waits for the last batch.
  ~Uploads();
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  /// A batch on the device.
  struct Pair {
    Tensor x, y;
  };
  /// Enqueues the journey of host tensors that are like the largest ones or have fewer rows. What
  /// the previous call returned may be used by work that is enqueued already, and by no other. The
  /// addresses repeat: batches of one number have the same in each pass.
  [[nodiscard]] Pair bring(const Tensor& x, const Tensor& y, std::int64_t number);
  /// Until the host memory of the last `bring` may be written to. The work of the last two batches
  /// may still be under way.
  void wait();

 private:
  struct Slot {
    Tensor x{}, y{};
    std::shared_ptr<cuda::UploadSlot> order{};
  };

  Context& ctx_;
  std::array<Slot, 2> slots_;
  Slot* last_ = nullptr;
};

}  // namespace learn
