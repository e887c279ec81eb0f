#include "framework/backend/cuda/timer.h"

#include "framework/backend/cuda/api_error.h"

#include <cuda_runtime_api.h>

#include <algorithm>

namespace learn::backend::cuda {
namespace {

class Event {
 public:
  Event() { check_api(cudaEventCreate(&raw_)); }
  ~Event() { (void)cudaEventDestroy(raw_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(Stream stream) { check_api(cudaEventRecord(raw_, stream)); }
  [[nodiscard]] double milliseconds_since(const Event& start) const {
    check_api(cudaEventSynchronize(raw_));
    float took = 0;
    check_api(cudaEventElapsedTime(&took, start.raw_, raw_));
    return static_cast<double>(took);
  }

 private:
  cudaEvent_t raw_ = nullptr;
};

}  // namespace

bool is_capturing(Stream stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_api(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

double time_on_stream(Stream stream, FunctionRef<void()> enqueue) {
  constexpr int kRounds = 3;
  constexpr int kPerRound = 5;  // many to a round, so that launching is not what is measured
  Event start;
  Event stop;
  enqueue();
  double least = 0;
  for (int round = 0; round < kRounds; ++round) {
    start.record(stream);
    for (int i = 0; i < kPerRound; ++i) enqueue();
    stop.record(stream);
    const double took = stop.milliseconds_since(start) / kPerRound;
    least = round == 0 ? took : std::min(least, took);
  }
  return least;
}

}  // namespace learn::backend::cuda
