#pragma once
#include "framework/runtime/cuda/fault.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>
#include <memory>

/// Who runs a kernel, and with what. An operation has one function per implementation, all of one
/// name, which take its executor first; that argument alone decides which is called (dispatch.h).
/// Most need nothing of it but threads or a stream, which it converts to.
namespace learn {

class Arena;
class PreparedWeights;
class ThreadPool;
struct CudaOptions;

namespace reference {
/// Plain loops in double, whatever the storage type: what the others are compared with.
struct Exec {};
}  // namespace reference

namespace cpu {
/// The CPU's vectorized and threaded loops: f32, f16, bf16, arithmetic in f32.
struct Exec {
  ThreadPool& threads;
  Arena& workspace;                     ///< scratch memory
  bool winograd = true;                 ///< convolutions may use it
  PreparedWeights* prepared = nullptr;  ///< of weights that do not change; null: they do
  operator ThreadPool&() const noexcept { return threads; }
};
using Worker = ThreadPool&;
}  // namespace cpu

namespace cuda {
class Runtime;

/// A CUDA device: f32, f16, bf16, arithmetic in f32. Pointers are the device's; work is enqueued
/// only.
struct Exec {
  Stream stream;
  Arena& workspace;  ///< scratch memory, given back when the call returns: the stream keeps order
  const CudaOptions& options;
  Runtime& runtime;
  bool winograd = true;  ///< convolutions may use it, or FFT
  operator Stream() const noexcept { return stream; }
  /// Where a kernel notes data that it cannot accept.
  [[nodiscard]] Fault* fault(FaultKind kind) const;
};
using Worker = Stream;

/// Scratch memory of a call: `floats` of the executor's workspace.
class FloatWorkspace {
 public:
  FloatWorkspace(const Exec& exec, std::int64_t floats);
  [[nodiscard]] float* data() const noexcept { return static_cast<float*>(memory_.get()); }

 private:
  std::shared_ptr<void> memory_;
};
}  // namespace cuda

}  // namespace learn

/// Declares kernels once for the CPU and once for CUDA, each in its namespace with its own `Exec`.
/// A kernel that needs only the threads or the stream takes a `Worker`.
#define LEARN_CPU_AND_CUDA(...) \
  namespace learn::cpu {        \
  __VA_ARGS__                   \
  }                             \
  namespace learn::cuda {       \
  __VA_ARGS__                   \
  }
