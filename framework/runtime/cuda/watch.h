#pragma once
#include "framework/core/function_ref.h"
#include "framework/runtime/cuda/stream.h"

#include <chrono>
#include <memory>
#include <vector>

/// Waits of the host for a device. Without a watch they are the runtime's; with one they poll.
namespace learn::cuda {

/// Ends waits for work that may never end, because it needs other processes.
class Watch {
 public:
  Watch() = default;
  virtual ~Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Called before a wait, again and again during it, and after it; `waited` counts from its start.
  /// Also called before each launch of a graph.
  /// Throws to end the wait. May be called by several threads.
  virtual void poll(std::chrono::steady_clock::duration waited) = 0;
};

/// Watches all waits for a device, instead of another watch; null: none. The work on `streams` may
/// never end.
void set_watch(int device, std::shared_ptr<Watch> watch, std::vector<Stream> streams);
/// Ends the watch of the device if `stream`, which is about to be destroyed, is one of its streams.
void forget_watched(int device, Stream stream) noexcept;

/// Calls `done` until it returns true. Throws what the watch throws.
void wait_watched(Watch& watch, FunctionRef<bool()> done);

/// Waits for the work on a stream of the device. Throws DeviceError if it failed, and what the
/// watch throws.
void wait_for(int device, Stream stream);

/// Waits for the watched streams of the device, if it has a watch. To be called before functions of
/// the runtime that wait by themselves, as cudaDeviceSynchronize, cudaFree and copies to pageable
/// memory do.
void wait_if_watched(int device);

/// The watch of the device, or null.
[[nodiscard]] std::shared_ptr<Watch> watch_of(int device);

}  // namespace learn::cuda
