#include "framework/runtime/cuda/fault_table.h"

#include "framework/runtime/cuda/api_error.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace learn::cuda {
namespace {

constexpr std::size_t kBytes = sizeof(Fault) * kFaultKinds;

[[noreturn]] void report(FaultKind kind, const Fault& fault) {
  const auto place = static_cast<std::int64_t>(fault.first >> 32U);
  const auto value = static_cast<std::int32_t>(static_cast<std::uint32_t>(fault.first));
  switch (kind) {
    case FaultKind::cross_entropy_class:
      fail<DataError>(
          "softmax_cross_entropy: sample {} has class {}, the logits have {} classes: 0 to {}",
          place,
          value,
          fault.limit,
          fault.limit - 1);
    case FaultKind::hit_class:
      fail<DataError>(
          "count_hits: row {} has class {}, but there are {} classes", place, value, fault.limit);
    case FaultKind::sample_index:
      fail<DataError>("augment: place {} of the batch asks for image {}, the data set has {}",
                      place,
                      value,
                      fault.limit);
  }
  fail<Error>("an unknown fault of kind {}", static_cast<int>(kind));
}

}  // namespace

FaultTable::FaultTable(Stream stream) : stream_(stream) {
  check_api(cudaMalloc(reinterpret_cast<void**>(&device_), kBytes));
  check_api(cudaMallocHost(reinterpret_cast<void**>(&host_), kBytes));
  clear();
}

FaultTable::~FaultTable() {
  (void)cudaFree(device_);
  (void)cudaFreeHost(host_);
}

Fault* FaultTable::device(FaultKind kind) const noexcept {
  return device_ + static_cast<int>(kind);
}

void FaultTable::clear() { check_api(cudaMemsetAsync(device_, 0xFF, kBytes, stream_)); }

void FaultTable::enqueue_read() {
  check_api(cudaMemcpyAsync(host_, device_, kBytes, cudaMemcpyDeviceToHost, stream_));
}

void FaultTable::check() {
  for (int kind = 0; kind < kFaultKinds; ++kind) {
    if (host_[kind].first == kNoFault) continue;
    const Fault fault = host_[kind];
    clear();
    report(static_cast<FaultKind>(kind), fault);
  }
}

}  // namespace learn::cuda
