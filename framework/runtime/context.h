#pragma once
#include "framework/core/device.h"
#include "framework/core/threads/thread_pool.h"
#include "framework/runtime/cuda_options.h"
#include "framework/runtime/prepared_weights.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace learn {

struct ContextOptions {
  /// None: `default_device()`; the CPU for a `reference`, which is only there.
  std::optional<Device> device;
  /// Worker threads on the CPU, the caller included; 0 = physical cores.
  int threads = 0;
  std::uint64_t seed = 42;
  /// Run the plain reference implementations instead of the fast ones: slow, for tests and for
  /// finding faults.
  bool reference = false;
  /// Convolutions may be computed by Winograd's algorithm (ADR 0005): faster, with larger rounding
  /// errors, and values of a 4x4 tile leak into one another's. On CUDA false leaves out cuDNN's
  /// engines that transform tiles or images, FFT's as well.
  bool winograd = true;
  /// Weights of convolutions and linear layers never change after their first use, as in inference:
  /// on the CPU their transformed forms are kept, which takes up to five times its memory. Such a
  /// context cannot train.
  bool constant_weights = false;
  /// Limit in bytes for the context's tensors on its device; 0: unlimited. Empty: the value of
  /// LEARN_MEM_LIMIT in the environment, such as "200M".
  std::optional<std::size_t> memory_limit;
  ArenaOptions arena;
  CudaOptions cuda = {};
};

class MemoryBudget;

namespace cuda {
class Runtime;  // streams, handles and properties of one CUDA device
}

/// The device of `Context ctx;`: "auto", as for `choose_device`. The log names it, unless the
/// environment sets it.
[[nodiscard]] Device default_device();

/// Owns everything a computation needs in addition to its operands: device, threads or streams,
/// arenas, seed, library handles and plan caches. Nothing of this is global. One Context is used by
/// one thread at a time; it must outlive what was made with it, but Storage blocks may outlive it.
class Context {
 public:
  /// Throws DeviceError if the device is not there, UsageError for a bad thread count or a bad
  /// LEARN_MEM_LIMIT.
  explicit Context(const ContextOptions& options = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return options_.seed; }
  [[nodiscard]] bool reference() const noexcept { return options_.reference; }
  [[nodiscard]] bool winograd() const noexcept { return options_.winograd; }
  /// Null unless the weights are constant.
  [[nodiscard]] PreparedWeights* prepared_weights() noexcept { return prepared_.get(); }
  [[nodiscard]] const CudaOptions& cuda_options() const noexcept { return options_.cuda; }
  [[nodiscard]] ThreadPool& threads() noexcept { return *threads_; }
  /// Parameters, optimizer state, data, plan workspaces: exists as long as its owner.
  [[nodiscard]] Arena& persistent() noexcept { return *persistent_; }
  /// Activations, their gradients and workspaces of one step.
  [[nodiscard]] Arena& step() noexcept { return *current_step_; }
  /// Another arena like it, for work whose addresses must not be reused in between.
  [[nodiscard]] std::unique_ptr<Arena> make_step_arena(std::string name) const;
  /// Uninitialized memory of the step arena.
  [[nodiscard]] Tensor empty(const Shape& shape, DType dtype) { return {step(), shape, dtype}; }
  /// The CUDA side. Throws DeviceError on a CPU context.
  [[nodiscard]] cuda::Runtime& cuda();
  /// Bytes of a CUDA device's memory that all processes together have; 0 on the CPU.
  [[nodiscard]] std::size_t device_bytes_used() const;

 private:
  friend class StepArenaScope;
  [[nodiscard]] std::unique_ptr<PageSource> make_pages() const;

  ContextOptions options_;
  Device device_;
  std::unique_ptr<ThreadPool> threads_;
  std::shared_ptr<cuda::Runtime> cuda_;
  std::shared_ptr<MemoryBudget> budget_;  // null: no limit
  std::unique_ptr<Arena> persistent_;
  std::unique_ptr<PreparedWeights> prepared_;  // null: weights change
  std::unique_ptr<Arena> step_;
  Arena* current_step_ = nullptr;
};

/// Replaces a context's `step()` arena during its lifetime.
class StepArenaScope {
 public:
  StepArenaScope(Context& ctx, Arena& arena)
      : ctx_(ctx), before_(std::exchange(ctx.current_step_, &arena)) {}
  ~StepArenaScope() { ctx_.current_step_ = before_; }
  StepArenaScope(const StepArenaScope&) = delete;
  StepArenaScope& operator=(const StepArenaScope&) = delete;

 private:
  Context& ctx_;
  Arena* before_;
};

}  // namespace learn
