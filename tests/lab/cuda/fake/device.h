#pragma once

/// How many devices there are, all alike and with one memory: FAKE_CUDA_DEVICES in the environment,
/// or else 1. A kernel can be launched on a stream of the calling thread's current device only, as
/// on real ones.
namespace fakecuda {

[[nodiscard]] int device_count();
/// Device of the calling thread; 0 until it chooses another one.
[[nodiscard]] int& current_device();

}  // namespace fakecuda
