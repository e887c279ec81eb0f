#include "framework/runtime/cuda/event.h"

#include "framework/runtime/cuda/api_error.h"
#include "framework/runtime/cuda/watch.h"

#include <cuda_runtime_api.h>

namespace learn::cuda {

Event::Event(bool timed) {
  check_api(cudaGetDevice(&device_));
  check_api(cudaEventCreateWithFlags(&raw_, timed ? cudaEventDefault : cudaEventDisableTiming));
}

Event::~Event() { (void)cudaEventDestroy(raw_); }

void Event::record(Stream stream) { check_api(cudaEventRecord(raw_, stream)); }

void Event::hold_back(Stream stream) const { check_api(cudaStreamWaitEvent(stream, raw_, 0)); }

void Event::wait() const {
  if (const std::shared_ptr<Watch> watch = watch_of(device_); watch != nullptr)
    return wait_watched(*watch, [&] { return is_done(cudaEventQuery(raw_)); });
  check_api(cudaEventSynchronize(raw_));
}

double Event::milliseconds_since(const Event& start) const {
  wait();
  float took = 0;
  check_api(cudaEventElapsedTime(&took, start.raw_, raw_));
  return static_cast<double>(took);
}

}  // namespace learn::cuda
