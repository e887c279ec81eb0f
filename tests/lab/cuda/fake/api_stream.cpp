#include "tests/lab/cuda/fake/api_error.h"
#include "tests/lab/cuda/fake/capture.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"

#include <cuda_runtime_api.h>

using namespace fakecuda;

// The names are CUDA's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const std::lock_guard guard(api_mutex());
  *stream = create_stream((flags & cudaStreamNonBlocking) == 0);
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard guard(api_mutex());
  destroy_stream(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const std::lock_guard guard(api_mutex());
  CUstream_st& stream = stream_of(handle);
  if (const cudaError_t code = forbidden_by_capture("cudaStreamSynchronize", stream))
    return report(code);
  drain(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const std::lock_guard guard(api_mutex());
  CUstream_st& stream = stream_of(handle);
  if (const cudaError_t code = forbidden_by_capture("cudaStreamQuery", stream)) return report(code);
  return run_one(stream) == Progress::none ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  enqueue(stream, "host function", [=] { function(data); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const std::lock_guard guard(api_mutex());
  *event = create_event();
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard guard(api_mutex());
  destroy_event(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  const std::lock_guard guard(api_mutex());
  CUevent_st& event = event_of(handle);
  CUstream_st& stream = stream_of(stream_handle);
  event.capture = stream.capture;
  event.tips = stream.tips;
  if (stream.capture != nullptr) return cudaSuccess;
  event.stream = &stream;
  ++event.recorded;
  push(stream, {.what = "record", .record = handle, .version = event.recorded});
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t handle, unsigned) {
  const std::lock_guard guard(api_mutex());
  CUevent_st& event = event_of(handle);
  CUstream_st& stream = stream_of(stream_handle);
  if (event.capture != nullptr && event.capture->origin == nullptr)
    return report(cudaErrorCapturedEvent);
  if (event.capture != nullptr) {
    join_capture(stream, event);
  } else if (stream.capture != nullptr) {
    stop("a captured stream waits for an event that was recorded outside the capture");
  } else if (event.recorded > 0) {
    push(stream, {.what = "wait", .wait = handle, .version = event.recorded});
  }
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const std::lock_guard guard(api_mutex());
  CUevent_st& event = event_of(handle);
  if (event.capture != nullptr) return report(cudaErrorCapturedEvent);
  drain_event(event, event.recorded);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const std::lock_guard guard(api_mutex());
  CUevent_st& event = event_of(handle);
  if (event.done >= event.recorded) return cudaSuccess;
  run_one(*event.stream);
  return cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const std::lock_guard guard(api_mutex());
  const CUevent_st& a = event_of(from);
  const CUevent_st& b = event_of(to);
  if (a.recorded == 0 || b.recorded == 0) return report(cudaErrorInvalidResourceHandle);
  if (a.done < a.recorded || b.done < b.recorded) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(b.milliseconds - a.milliseconds);
  return cudaSuccess;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
