#pragma once
#include "framework/backend/cuda/stream.h"
#include "framework/core/function_ref.h"

namespace learn::backend::cuda {

/// True while a graph is captured on the stream: then nothing may wait for it.
[[nodiscard]] bool is_capturing(Stream stream);

/// Milliseconds that what `enqueue` puts on the stream takes: the least of a few rounds, after one
/// to warm up. Waits for the stream. Throws DeviceError.
[[nodiscard]] double time_on_stream(Stream stream, FunctionRef<void()> enqueue);

}  // namespace learn::backend::cuda
