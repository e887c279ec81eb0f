#pragma once
#include "framework/runtime/cuda/fault.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>
#include <memory>

/// Executors, which run a kernel. An operation has one function per implementation, all with the
/// same name, whose first argument is the executor; only that argument selects the implementation
/// (dispatch.h). Most need only threads or a stream, to which the executor converts.
namespace learn {

class Arena;
class PreparedWeights;
class ThreadPool;
struct CudaOptions;

namespace reference {
/// Plain loops in double for every storage type, the reference of the others.
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
  /// Memory in which a kernel records data that it cannot accept.
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
