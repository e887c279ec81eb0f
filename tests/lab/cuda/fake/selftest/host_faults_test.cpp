// Host code with planted faults. Faults of stream order do not show when the device is infinitely
// fast; under a late or random schedule each must change the result, and the correct program must
// not.
#include "tests/lab/cuda/fake/selftest/buffer.h"
#include "tests/lab/cuda/fake/selftest/child.h"
#include "tests/lab/cuda/fake/selftest/kernels.h"
#include "tests/lab/cuda/fake/stop.h"

#include <doctest/doctest.h>

#include <csignal>
#include <functional>
#include <string>

using namespace fakecuda;
using namespace fakecuda::selftest;

namespace {

constexpr const char* kSchedules[] = {"now", "late", "rand:1", "rand:2", "rand:3"};
constexpr int kNumbers = 256;

enum class Pipeline {
  correct,
  compute_does_not_wait_for_upload,
  upload_does_not_wait_for_compute,
  host_refills_too_early,
  result_read_too_early
};

/// Uploads batches through one pinned and one device buffer on a copy stream, computes on another,
/// downloads the last result. True if it is right.
bool run_pipeline(Pipeline fault) {
  const OwnStream copy;
  const OwnStream compute;
  const Event uploaded;
  const Event computed;
  const Buffer<float> x(kNumbers);
  const Buffer<float> sums(std::vector<float>(kNumbers, 0.0F));
  float* pinned = nullptr;
  float* result = nullptr;
  constexpr std::size_t kBytes = kNumbers * sizeof(float);
  ok(cudaMallocHost(reinterpret_cast<void**>(&pinned), kBytes));
  ok(cudaMallocHost(reinterpret_cast<void**>(&result), kBytes));
  float expected = 0;
  bool right = true;
  for (int batch = 0; batch < 6; ++batch) {
    if (fault != Pipeline::host_refills_too_early) ok(cudaEventSynchronize(uploaded));
    for (int i = 0; i < kNumbers; ++i) pinned[i] = static_cast<float>(10 * batch + i % 7);
    expected += pinned[5];
    if (fault != Pipeline::upload_does_not_wait_for_compute)
      ok(cudaStreamWaitEvent(copy, computed, 0));
    ok(cudaMemcpyAsync(x.get(), pinned, kBytes, cudaMemcpyHostToDevice, copy));
    ok(cudaEventRecord(uploaded, copy));
    if (fault != Pipeline::compute_does_not_wait_for_upload)
      ok(cudaStreamWaitEvent(compute, uploaded, 0));
    accumulate(compute, x.get(), sums.get(), kNumbers);
    ok(cudaMemcpyAsync(result, sums.get(), kBytes, cudaMemcpyDeviceToHost, compute));
    ok(cudaEventRecord(computed, compute));
    if (batch % 3 != 2) continue;
    if (fault != Pipeline::result_read_too_early) ok(cudaStreamSynchronize(compute));
    right &= result[5] == expected;
  }
  ok(cudaDeviceSynchronize());
  ok(cudaFreeHost(pinned));
  ok(cudaFreeHost(result));
  return right;
}

void expect_found_by_schedules(const std::string& name, const std::function<bool(bool)>& run) {
  INFO(name);
  int found = 0;
  for (const char* schedule : kSchedules) {
    INFO(schedule);
    const Outcome good = in_child([&] { return run(false) ? 0 : 1; }, schedule);
    INFO(good.text);
    CHECK(good.status == 0);
    const Outcome bad = in_child([&] { return run(true) ? 0 : 1; }, schedule);
    if (std::string(schedule) == "now") {
      CHECK_MESSAGE(bad.status == 0,
                    "so fast a device hides it: that is why there are other schedules");
    } else {
      found += bad.status == 0 ? 0 : 1;
    }
  }
  MESSAGE(name << ": found by " << found << " of 4 schedules");
  CHECK(found >= 1);
}

Outcome report_of(const std::function<void()>& body, bool through_exit = false) {
  return in_child(
      [&] {
        body();
        return 0;
      },
      "now",
      through_exit);
}

void check_report(const Outcome& outcome, const std::string& words) {
  INFO(outcome.text);
  CHECK(outcome.status == kFaultStatus);
  CHECK(outcome.text.find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("missing waits between streams and host") {
  const auto pipeline = [](Pipeline planted) {
    return [planted](bool fault) { return run_pipeline(fault ? planted : Pipeline::correct); };
  };
  expect_found_by_schedules("compute does not wait for the upload",
                            pipeline(Pipeline::compute_does_not_wait_for_upload));
  expect_found_by_schedules("upload does not wait until the buffer is free",
                            pipeline(Pipeline::upload_does_not_wait_for_compute));
  expect_found_by_schedules("host refills the pinned buffer too early",
                            pipeline(Pipeline::host_refills_too_early));
  expect_found_by_schedules("result read before the stream is synchronized",
                            pipeline(Pipeline::result_read_too_early));
}

TEST_CASE("memset on the default stream does not wait for other streams, nor they for it") {
  expect_found_by_schedules("cudaMemset and a stream of its own", [](bool fault) {
    const OwnStream stream;
    const Buffer<float> x(kNumbers);
    const Buffer<float> y(kNumbers);
    if (fault)
      ok(cudaMemset(x.get(), 0, kNumbers * sizeof(float)));
    else
      ok(cudaMemsetAsync(x.get(), 0, kNumbers * sizeof(float), stream));
    affine(stream, x.get(), y.get(), kNumbers, 2, 1);
    ok(cudaStreamSynchronize(stream));
    return y.host()[3] == 1;
  });
}

TEST_CASE("an unordered branch of a graph") {
  expect_found_by_schedules("captured fork without an edge", [](bool fault) {
    const OwnStream main;
    const OwnStream side;
    const Event forked;
    const Event joined;
    const Buffer<float> x(std::vector<float>(kNumbers, 1.0F));
    const Buffer<float> y(std::vector<float>(kNumbers, 0.0F));
    const Buffer<float> z(std::vector<float>(kNumbers, 0.0F));
    ok(cudaDeviceSynchronize());
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    ok(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
    if (fault) ok(cudaEventRecord(forked, main));
    affine(main, x.get(), y.get(), kNumbers, 2, 1);
    if (!fault) ok(cudaEventRecord(forked, main));
    ok(cudaStreamWaitEvent(side, forked, 0));
    affine(side, y.get(), z.get(), kNumbers, 10, 0);
    ok(cudaEventRecord(joined, side));
    ok(cudaStreamWaitEvent(main, joined, 0));
    ok(cudaStreamEndCapture(main, &graph));
    ok(cudaGraphInstantiate(&exec, graph, 0));
    ok(cudaGraphLaunch(exec, main));
    ok(cudaStreamSynchronize(main));
    const bool right = z.host()[3] == 30;
    ok(cudaGraphExecDestroy(exec));
    ok(cudaGraphDestroy(graph));
    return right;
  });
}

TEST_CASE("access of the host to device memory") {
  const Outcome outcome = report_of([] {
    const Buffer<float> x(std::vector<float>(4, 1.0F));
    volatile float* const p = x.get();
    if (p[0] == 1) std::fprintf(stderr, "it could be read\n");
  });
  CHECK(outcome.status == 128 + SIGSEGV);
}

TEST_CASE("allocations") {
  check_report(report_of([] {
                 void* p = nullptr;
                 ok(cudaMalloc(&p, 64));
                 ok(cudaFree(p));
                 ok(cudaFree(p));
               }),
               "freed memory");
  check_report(report_of([] {
                 float x = 0;
                 ok(cudaFree(&x));
               }),
               "host memory");
  check_report(report_of(
                   [] {
                     void* p = nullptr;
                     ok(cudaMalloc(&p, 64));
                   },
                   true),
               "1 device allocations (64 bytes) are left");
  CHECK(report_of(
            [] {
              void* p = nullptr;
              ok(cudaMalloc(&p, 64));
              ok(cudaFree(p));
            },
            true)
            .status == 0);
  CHECK(in_child([] {
          void* p = nullptr;
          return static_cast<int>(cudaMalloc(&p, std::size_t{1} << 40U));
        }).status == cudaErrorMemoryAllocation);
}

TEST_CASE("copies") {
  const std::vector<float> host(8, 1.0F);
  check_report(report_of([&] {
                 const Buffer<float> x(4);
                 ok(cudaMemcpy(x.get(), host.data(), 5 * sizeof(float), cudaMemcpyHostToDevice));
               }),
               "destination: 20 bytes at byte 0 leave their allocation of 16 bytes");
  check_report(report_of([&] {
                 const Buffer<float> x(4);
                 ok(cudaMemcpy(x.get(), host.data(), 16, cudaMemcpyDeviceToDevice));
               }),
               "does not fit the pointers");
  check_report(report_of([] {
                 const Buffer<float> x(4);
                 const OwnStream stream;
                 ok(cudaMemsetAsync(x.get() + 1, 0, 16, stream));
               }),
               "leave their allocation");
}

TEST_CASE("handles") {
  check_report(report_of([] {
                 cudaStream_t stream = nullptr;
                 ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
                 ok(cudaStreamDestroy(stream));
                 ok(cudaStreamSynchronize(stream));
               }),
               "is not a stream");
  check_report(report_of([] {
                 cudaEvent_t event = nullptr;
                 ok(cudaEventCreate(&event));
                 ok(cudaEventDestroy(event));
                 ok(cudaEventSynchronize(event));
               }),
               "is not an event");
}

TEST_CASE("a function of the runtime that is not modelled") {
  check_report(report_of([] {
                 cudaMemPool_t pool = nullptr;
                 ok(cudaDeviceGetDefaultMemPool(&pool, 0));
               }),
               "cudaDeviceGetDefaultMemPool is not modelled");
}

TEST_CASE("calls that a capture forbids break it, and leave the stream usable") {
  for (const int call : {0, 1, 2}) {
    const Outcome outcome = in_child([&] {
      const OwnStream stream;
      const Buffer<float> x(kNumbers);
      ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      void* p = nullptr;
      const cudaError_t code = call == 0   ? cudaMalloc(&p, 64)
                               : call == 1 ? cudaStreamSynchronize(stream)
                                           : cudaDeviceSynchronize();
      if (code != cudaErrorStreamCaptureUnsupported) return 4;
      cudaGraph_t graph = nullptr;
      if (cudaStreamEndCapture(stream, &graph) != cudaErrorStreamCaptureInvalidated) return 5;
      ok(cudaMemsetAsync(x.get(), 0, kNumbers * sizeof(float), stream));
      ok(cudaStreamSynchronize(stream));
      return x.host()[0] == 0 ? 0 : 6;
    });
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(outcome.text.find("while a stream is being captured") != std::string::npos);
  }
  const Outcome unjoined = in_child([] {
    const OwnStream main;
    const OwnStream side;
    const Event forked;
    const Buffer<float> x(kNumbers);
    ok(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
    ok(cudaEventRecord(forked, main));
    ok(cudaStreamWaitEvent(side, forked, 0));
    ok(cudaMemsetAsync(x.get(), 0, kNumbers * sizeof(float), side));
    cudaGraph_t graph = nullptr;
    return cudaStreamEndCapture(main, &graph) == cudaErrorStreamCaptureUnjoined ? 0 : 1;
  });
  CHECK(unjoined.status == 0);
}

TEST_CASE("a graph replays what was captured, and can be updated") {
  for (const char* schedule : kSchedules) {
    const Outcome outcome = in_child(
        [] {
          const OwnStream stream;
          const Buffer<float> x(std::vector<float>(kNumbers, 1.0F));
          const auto capture = [&](float a) {
            cudaGraph_t graph = nullptr;
            ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            affine(stream, x.get(), x.get(), kNumbers, a, 1);
            affine(stream, x.get(), x.get(), kNumbers, 1, 1);
            ok(cudaStreamEndCapture(stream, &graph));
            return graph;
          };
          cudaGraphExec_t exec = nullptr;
          cudaGraph_t graph = capture(2);
          std::size_t nodes = 0;
          ok(cudaGraphGetNodes(graph, nullptr, &nodes));
          ok(cudaGraphInstantiate(&exec, graph, 0));
          ok(cudaGraphDestroy(graph));
          for (int i = 0; i < 3; ++i) ok(cudaGraphLaunch(exec, stream));  // 1 4 10 22
          graph = capture(3);
          cudaGraphExecUpdateResultInfo info{};
          ok(cudaGraphExecUpdate(exec, graph, &info));
          ok(cudaGraphDestroy(graph));
          ok(cudaGraphLaunch(exec, stream));  // 68
          ok(cudaStreamSynchronize(stream));
          ok(cudaGraphExecDestroy(exec));
          return nodes == 2 && x.host()[7] == 68 ? 0 : 1;
        },
        schedule);
    INFO(schedule, ": ", outcome.text);
    CHECK(outcome.status == 0);
  }
}
