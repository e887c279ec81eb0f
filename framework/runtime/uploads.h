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

/// Host memory for preparing batches. For a CUDA device it is pinned, so that the device can read
/// it directly; each block is a separate allocation. Throws OutOfMemoryError when it is exhausted.
[[nodiscard]] std::unique_ptr<Arena> make_upload_arena(Context& ctx, std::string name);

/// Brings batches from host memory to a CUDA device while it computes: batch n is copied during the
/// work on batch n - 1, and only the device waits for it.
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
  /// Enqueues the copy of host tensors that have the shape of the largest ones or fewer rows. Only
  /// work that is enqueued already may use the result of the previous call. The addresses repeat: a
  /// batch has the same address in each pass.
  [[nodiscard]] Pair bring(const Tensor& x, const Tensor& y, std::int64_t number);
  /// Waits until the host memory of the last `bring` may be overwritten. The work of the last two
  /// batches may still be running.
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
