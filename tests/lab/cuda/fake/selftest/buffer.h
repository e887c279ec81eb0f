#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace fakecuda::selftest {

/// Ends the child with status 3: none of the runtime's own faults.
inline void ok(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", cudaGetErrorName(code), cudaGetErrorString(code));
  std::_Exit(3);
}

/// Device memory that is freed at the end of its scope.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t n) : n_(n) {
    ok(cudaMalloc(reinterpret_cast<void**>(&p_), n * sizeof(T)));
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    ok(cudaMemcpy(p_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Buffer() { ok(cudaFree(p_)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] T* get() const { return p_; }
  [[nodiscard]] std::vector<T> host() const {
    std::vector<T> values(n_);
    ok(cudaDeviceSynchronize());
    ok(cudaMemcpy(values.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* p_ = nullptr;
  std::size_t n_;
};

class OwnStream {
 public:
  OwnStream() { ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~OwnStream() { ok(cudaStreamDestroy(stream_)); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { ok(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { ok(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }  // NOLINT(google-explicit-constructor)

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace fakecuda::selftest
