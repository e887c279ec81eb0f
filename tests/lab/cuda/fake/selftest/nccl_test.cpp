// Correct use of NCCL by 2, 3 and 4 processes, under each schedule of their streams.
#include "tests/lab/cuda/fake/selftest/kernels.h"
#include "tests/lab/cuda/fake/selftest/nccl_ranks.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

using namespace fakecuda;
using namespace fakecuda::selftest;

namespace {

constexpr std::size_t kCount = 37;

/// A value whose sums need rounding.
template <class T>
T value(int rank, std::size_t i) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::size_t>(rank + 1) * 97 + i * 31);
  else
    return T(static_cast<float>(rank + 1) * 1.37F + static_cast<float>(i) / 3 +
             (rank == 1 ? 300.0F : 0.0F));
}

template <class T>
std::vector<T> values(int rank, std::size_t count = kCount) {
  std::vector<T> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(value<T>(rank, i));
  return all;
}

template <class T, class Sum>
std::vector<T> sums(int ranks) {
  std::vector<T> all;
  for (std::size_t i = 0; i < kCount; ++i) {
    Sum sum = static_cast<Sum>(value<T>(0, i));
    for (int r = 1; r < ranks; ++r) sum = static_cast<Sum>(sum + static_cast<Sum>(value<T>(r, i)));
    all.push_back(static_cast<T>(sum));
  }
  return all;
}

template <class T>
void demand_bits(const T* device, const std::vector<T>& expected, const char* what) {
  const std::vector<T> found = host_values(device, expected.size());
  demand(std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)) == 0, what);
}

template <class T, class Sum = T>
void reduce(const Rank& rank, NcclType type, cudaStream_t stream) {
  const auto expected = sums<T, Sum>(rank.ranks);
  T* const x = device_values(values<T>(rank.rank));
  T* const y = device_memory<T>(kCount);
  ok(ncclAllReduce(x, y, kCount, type, kNcclSum, rank.comm, stream));
  ok(ncclAllReduce(x, x, kCount, type, kNcclSum, rank.comm, stream));
  demand_bits(y, expected, "ncclAllReduce");
  demand_bits(x, expected, "ncclAllReduce in place");
}

template <class T>
void gather(const Rank& rank, NcclType type, cudaStream_t stream) {
  std::vector<T> expected;
  for (int r = 0; r < rank.ranks; ++r)
    for (const T& one : values<T>(r)) expected.push_back(one);
  T* const x = device_values(values<T>(rank.rank));
  T* const y = device_memory<T>(expected.size());
  T* const z = device_memory<T>(expected.size());
  T* const own = z + static_cast<std::size_t>(rank.rank) * kCount;
  ok(cudaMemcpy(own, x, kCount * sizeof(T), cudaMemcpyDeviceToDevice));
  ok(ncclAllGather(x, y, kCount, type, rank.comm, stream));
  ok(ncclAllGather(own, z, kCount, type, rank.comm, stream));
  demand_bits(y, expected, "ncclAllGather");
  demand_bits(z, expected, "ncclAllGather in place");
}

template <class T>
void broadcast(const Rank& rank, NcclType type, cudaStream_t stream) {
  for (int root = 0; root < rank.ranks; ++root) {
    T* const x = device_values(values<T>(rank.rank));
    T* const y = device_memory<T>(kCount);
    const T* const send = rank.rank == root ? x : nullptr;
    ok(ncclBroadcast(send, y, kCount, type, root, rank.comm, stream));
    ok(ncclBroadcast(x, x, kCount, type, root, rank.comm, stream));
    demand_bits(y, values<T>(root), "ncclBroadcast");
    demand_bits(x, values<T>(root), "ncclBroadcast in place");
  }
}

}  // namespace

TEST_CASE("sums of each type have the bits of a sum in rank order") {
  expect_right([](Rank& rank) {
    rank.join();
    const OwnStream stream;
    reduce<float>(rank, kNcclF32, stream);
    reduce<double>(rank, kNcclF64, stream);
    reduce<__half, float>(rank, kNcclF16, stream);
    reduce<__nv_bfloat16, float>(rank, kNcclBf16, stream);
    reduce<std::uint8_t>(rank, kNcclU8, stream);
    ok(ncclAllReduce(nullptr, nullptr, 0, kNcclF32, kNcclSum, rank.comm, stream));
    rank.leave();
  });
}

TEST_CASE("gathers and broadcasts copy each type") {
  expect_right([](Rank& rank) {
    rank.join();
    const OwnStream stream;
    gather<float>(rank, kNcclF32, stream);
    gather<std::uint8_t>(rank, kNcclU8, stream);
    broadcast<double>(rank, kNcclF64, stream);
    broadcast<__half>(rank, kNcclF16, stream);
    rank.leave();
  });
}

TEST_CASE("a group of broadcasts gathers different counts") {
  expect_right([](Rank& rank) {
    rank.join();
    const OwnStream stream;
    std::vector<float> expected;
    for (int r = 0; r < rank.ranks; ++r)
      for (const float one : values<float>(r, static_cast<std::size_t>(r))) expected.push_back(one);
    const float* const x = device_values(values<float>(rank.rank));
    float* const y = device_memory<float>(expected.size());
    float* to = y;
    ok(ncclGroupStart());
    for (int r = 0; r < rank.ranks; ++r) {
      const auto count = static_cast<std::size_t>(r);
      ok(ncclGroupStart());
      ok(ncclBroadcast(x, to, count, kNcclF32, r, rank.comm, stream));
      ok(ncclGroupEnd());
      to += count;
    }
    ok(ncclGroupEnd());
    demand_bits(y, expected, "the group");
    rank.leave();
  });
}

TEST_CASE("enqueueing never waits for other ranks and the device gets on without its host") {
  expect_right([](Rank& rank) {
    rank.join();
    const OwnStream stream;
    float* const x = device_values(values<float>(rank.rank));
    // Rank 0 enqueues before the others do so.
    if (rank.rank == 0) rank.all_reduce(x, x, kCount, stream);
    rank.meet();
    if (rank.rank != 0) rank.all_reduce(x, x, kCount, stream);
    // The host of the last rank waits for results of the others.
    if (rank.rank + 1 == rank.ranks) rank.meet();
    ok(cudaStreamSynchronize(stream));
    if (rank.rank + 1 != rank.ranks) rank.meet();
    demand_bits(x, sums<float, float>(rank.ranks), "the sum");
    // Several collectives in flight.
    float* const y = device_values(std::vector<float>{1});
    for (int i = 0; i < 5; ++i) rank.all_reduce(y, y, 1, stream);
    float expected = 1;
    for (int i = 0; i < 5; ++i) expected *= static_cast<float>(rank.ranks);
    demand_bits(y, {expected}, "five sums");
    rank.leave();
  });
}

TEST_CASE("streams and events are destroyed while a collective waits") {
  expect_right([](Rank& rank) {
    rank.join();
    float* const x = device_values(values<float>(rank.rank));
    if (rank.rank != 0) rank.meet();
    {
      const OwnStream stream;
      const Event event;
      rank.all_reduce(x, x, kCount, stream);
      ok(cudaEventRecord(event, stream));
    }
    if (rank.rank == 0) rank.meet();
    demand_bits(x, sums<float, float>(rank.ranks), "the sum");
    rank.leave();
  });
}

TEST_CASE("a graph gets on around a collective that waits") {
  expect_right([](Rank& rank) {
    rank.join();
    const OwnStream compute;
    const OwnStream communication;
    const Event forked;
    const Event joined;
    float* const x = device_values(values<float>(rank.rank));
    std::atomic<bool> meanwhile = false;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    ok(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal));
    ok(cudaEventRecord(forked, compute));
    ok(cudaStreamWaitEvent(communication, forked, 0));
    rank.all_reduce(x, x, kCount, communication);
    ok(cudaEventRecord(joined, communication));
    ok(cudaLaunchHostFunc(
        compute, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &meanwhile));
    ok(cudaStreamWaitEvent(compute, joined, 0));
    ok(cudaStreamEndCapture(compute, &graph));
    ok(cudaGraphInstantiate(&exec, graph, 0));
    if (rank.rank != 0) rank.meet();
    ok(cudaGraphLaunch(exec, compute));
    while (!meanwhile) (void)cudaStreamQuery(compute);
    if (rank.rank == 0) rank.meet();
    demand_bits(x, sums<float, float>(rank.ranks), "the sum");
    rank.leave();
  });
}

TEST_CASE("a communicator that does not block tells when its calls are done") {
  expect_right([](Rank& rank) {
    rank.start_joining();
    ok(rank.settle());
    const OwnStream stream;
    float* const x = device_values(values<float>(rank.rank));
    demand(ncclAllReduce(x, x, kCount, kNcclF32, kNcclSum, rank.comm, stream) == kNcclInProgress,
           "the first collective connects");
    ok(rank.settle());
    ok(cudaStreamSynchronize(stream));
    demand_bits(x, sums<float, float>(rank.ranks), "the sum");
    rank.all_reduce(x, x, kCount, stream);
    demand(ncclCommFinalize(rank.comm) == kNcclInProgress, "finalize does not block");
    ok(rank.settle());
    ok(ncclCommDestroy(rank.comm));
  });
}

TEST_CASE("graphs hold collectives of a second stream, on some ranks only too") {
  expect_right([](Rank& rank) {
    rank.join();
    const OwnStream compute;
    const OwnStream communication;
    const Event ready;
    const Event summed;
    float* const x = device_values(std::vector<float>(kCount, 1));
    float* const y = device_memory<float>(kCount);
    float* const total = device_values(std::vector<float>(kCount, 0));
    const auto step = [&] {
      accumulate(compute, x, total, kCount);
      ok(cudaMemcpyAsync(y, total, kCount * 4, cudaMemcpyDeviceToDevice, compute));
      ok(cudaEventRecord(ready, compute));
      ok(cudaStreamWaitEvent(communication, ready, 0));
      rank.all_reduce(y, y, kCount, communication);
      ok(cudaEventRecord(summed, communication));
      accumulate(compute, x, total, kCount);  // meanwhile
      ok(cudaStreamWaitEvent(compute, summed, 0));
      accumulate(compute, y, total, kCount);
    };
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    const bool captures = rank.rank != 1;
    if (captures) {
      ok(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal));
      step();
      ok(cudaStreamEndCapture(compute, &graph));
      ok(cudaGraphInstantiate(&exec, graph, 0));
    }
    float expected = 0;
    for (int i = 0; i < 4; ++i) {
      captures ? ok(cudaGraphLaunch(exec, compute)) : step();
      expected += 2 + (expected + 1) * static_cast<float>(rank.ranks);
    }
    demand_bits(total, std::vector<float>(kCount, expected), "four steps");
    rank.leave();
  });
}

TEST_CASE("memory of the device is registered and released") {
  expect_right([](Rank& rank) {
    rank.join();
    float* const x = device_memory<float>(4);
    void* handle = nullptr;
    ok(ncclCommRegister(rank.comm, x, 16, &handle));
    ok(ncclCommDeregister(rank.comm, handle));
    rank.leave();
  });
}
