// Kernels with planted faults: each must be reported, as what it is, with the kernel's name and
// line; and its correct form must pass.
#include "tests/lab/cuda/fake/selftest/buffer.h"
#include "tests/lab/cuda/fake/selftest/child.h"
#include "tests/lab/cuda/fake/selftest/kernels.h"
#include "tests/lab/cuda/fake/stop.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <numeric>
#include <string>

using namespace fakecuda;
using namespace fakecuda::selftest;

namespace {

std::vector<float> numbers(std::size_t n) {
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 1.0F);
  return x;
}

/// `run(fault)` enqueues a kernel and returns whether its results are right.
template <class Run>
void expect_fault(const Run& run, const std::string& report, const std::string& kernel) {
  const Outcome good = in_child([&] { return run(false) ? 0 : 1; });
  INFO("correct form: ", good.text);
  CHECK(good.status == 0);
  for (const char* schedule : {"now", "late", "rand:1"}) {
    const Outcome bad = in_child([&] { return run(true) ? 0 : 1; }, schedule);
    INFO(schedule, ": ", bad.text);
    CHECK(bad.status == kFaultStatus);
    CHECK(bad.text.find(report) != std::string::npos);
    CHECK(bad.text.find(kernel) != std::string::npos);
    CHECK(bad.text.find("kernels.cu:") != std::string::npos);
  }
}

bool scaled(const std::vector<float>& y) {
  for (std::size_t i = 0; i < y.size(); ++i)
    if (y[i] != 2 * static_cast<float>(i + 1)) return false;
  return true;
}

}  // namespace

TEST_CASE("global memory out of bounds") {
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> x(numbers(40));
        const Buffer<float> y(40);
        scale_unguarded({stream, fault}, x.get(), y.get(), 40);
        return scaled(y.host());
      },
      "global memory read out of bounds: byte 160 of an allocation of 160",
      "scale_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> y(100);
        fill_chunks({stream, fault}, y.get(), 100);
        return y.host()[99] == 1;
      },
      "global memory write out of bounds",
      "fill_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> x(numbers(32));
        const Buffer<float> y(32);
        if (fault) ok(cudaFree(y.get()));
        scale_unguarded({stream, false}, x.get(), y.get(), 32);
        return scaled(y.host());
      },
      "freed memory",
      "scale_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const std::vector<float> host = numbers(32);
        const Buffer<float> x(host);
        const Buffer<float> y(32);
        scale_unguarded({stream, false}, fault ? host.data() : x.get(), y.get(), 32);
        return scaled(y.host());
      },
      "host memory",
      "scale_kernel");
}

TEST_CASE("misaligned vector access") {
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> x(numbers(64));
        const Buffer<float> y(64);
        scale_packed({stream, fault}, x.get(), y.get(), 64);
        return scaled(y.host());
      },
      "misaligned read of 16 bytes",
      "packed_kernel");
}

TEST_CASE("shared memory and barriers") {
  const auto tree = [](TreeFault planted) {
    return [planted](bool fault) {
      const OwnStream stream;
      const Buffer<float> x(numbers(512));
      const Buffer<float> sums(2);
      tree_sum(stream, fault ? planted : TreeFault::none, x.get(), sums.get(), 2);
      return sums.host()[0] == 256 * 257 / 2.0F;
    };
  };
  expect_fault(tree(TreeFault::no_first_barrier), "shared memory", "tree_kernel");
  expect_fault(tree(TreeFault::no_barrier_in_tree), "race on shared memory", "tree_kernel");
  expect_fault(tree(TreeFault::out_of_bounds), "shared memory out of bounds", "tree_kernel");
  expect_fault(tree(TreeFault::uninitialized), "uninitialized shared memory", "tree_kernel");
  expect_fault(tree(TreeFault::divergent_barrier), "the others have exited", "tree_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> y(32);
        two_arrays({stream, fault}, y.get());
        return y.host()[5] == 3;
      },
      "shared memory out of bounds: 4 bytes at byte 128 of a variable of 128",
      "two_arrays_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> x(numbers(40));
        const Buffer<float> y(40);
        dynamic_row({stream, fault}, x.get(), y.get(), 40);
        return y.host()[0] == 40;
      },
      "shared memory out of bounds: 4 bytes at byte 160 of 160 dynamic ones",
      "dynamic_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> x(std::vector<float>(64, 1.0F));
        const Buffer<float> y(64);
        two_reductions({stream, fault}, x.get(), y.get());
        return y.host()[63] == 16;
      },
      "race on shared memory: write after the read",
      "two_reductions_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> y(64);
        split_barrier({stream, fault}, y.get());
        return y.host()[3] == 1;
      },
      "threads wait at different barriers",
      "split_barrier_kernel");
}

TEST_CASE("global memory that was not written") {
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> out(1);
        write_sum({stream, fault}, out.get());
        return out.host()[0] == 3;
      },
      "read of global memory that was not written",
      "write_sum_kernel");
}

TEST_CASE("races in global memory") {
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> out(std::vector<float>(32, 0.0F));
        add_columns({stream, fault}, out.get(), 5);
        return out.host()[31] == 5;
      },
      "race on global memory: read after the write of thread 0 of another block",
      "add_columns_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> scratch(64);
        const Buffer<float> y(64);
        swap_through_global({stream, fault}, scratch.get(), y.get());
        return y.host()[0] == 63;
      },
      "global memory",
      "swap_kernel");
  for (const FenceFault planted : {FenceFault::no_release, FenceFault::no_acquire})
    expect_fault(
        [planted](bool fault) {
          const OwnStream stream;
          const Buffer<float> x(std::vector<float>(192, 1.0F));
          const Buffer<float> parts(6);
          const Buffer<float> out(1);
          const Buffer<unsigned> count(std::vector<unsigned>{0});
          last_block_sum(stream,
                         fault ? planted : FenceFault::none,
                         x.get(),
                         parts.get(),
                         out.get(),
                         count.get());
          return out.host()[0] == 192;
        },
        "race on global memory: read after the write",
        "last_block_kernel");
  for (const HistogramFault planted : {HistogramFault::shared, HistogramFault::global})
    expect_fault(
        [planted](bool fault) {
          const OwnStream stream;
          std::vector<int> values(200);
          for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i / 3 % 8);
          const Buffer<int> x(values);
          const Buffer<unsigned> bins(std::vector<unsigned>(8, 0));
          histogram(stream, fault ? planted : HistogramFault::none, x.get(), bins.get(), 200);
          return bins.host()[0] == 27;
        },
        planted == HistogramFault::shared ? "race on shared memory" : "race on global memory",
        "histogram_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> x(32);
        const Buffer<float> y(32);
        read_own_writes({stream, fault}, x.get(), y.get());
        return y.host()[0] == 3;
      },
      "read through the read-only cache of what this kernel has written",
      "read_own_kernel");
}

TEST_CASE("warp operations") {
  const auto sum = [](ShuffleFault planted) {
    return [planted](bool fault) {
      const OwnStream stream;
      const Buffer<float> x(numbers(32));
      const Buffer<float> y(32);
      warp_sum(stream, fault ? planted : ShuffleFault::none, x.get(), y.get());
      return y.host()[7] == 16 * 33;
    };
  };
  expect_fault(sum(ShuffleFault::exited_lanes), "waits for a lane that", "warp_sum_kernel");
  expect_fault(sum(ShuffleFault::narrow_mask), "leaves out the thread itself", "warp_sum_kernel");
  expect_fault(sum(ShuffleFault::divergent), "waits for a lane that", "warp_sum_kernel");
  expect_fault(
      sum(ShuffleFault::absent_source), "reads a lane outside the mask", "warp_sum_kernel");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<float> x(numbers(32));
        const Buffer<float> y(32);
        warp_reverse({stream, fault}, x.get(), y.get());
        return y.host()[0] == 32;
      },
      "race on shared memory: read after the write",
      "warp_reverse_kernel");
}

TEST_CASE("faults of the data") {
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        const Buffer<int> x(std::vector<int>(32, 6));
        std::vector<int> divisors(32, 2);
        divisors[7] = fault ? 0 : 3;
        const Buffer<int> d(divisors);
        const Buffer<int> y(32);
        divide(stream, x.get(), d.get(), y.get());
        return y.host()[7] == 2;
      },
      "integer division by zero",
      "thread (7,0,0)");
  expect_fault(
      [](bool fault) {
        const OwnStream stream;
        std::vector<int> values(32, 2);
        values[9] = fault ? -1 : 1;
        const Buffer<int> x(values);
        assert_positive(stream, x.get());
        ok(cudaStreamSynchronize(stream));
        return true;
      },
      "trap",
      "thread (9,0,0)");
}

TEST_CASE("loops without an end") {
  expect_fault(
      [](bool fault) {
        setenv("FAKE_CUDA_INSTRUCTIONS", "20000", 1);
        const OwnStream stream;
        const Buffer<int> next(std::vector<int>{2, fault ? 0 : -1, 1});
        const Buffer<int> visited(3);
        follow(stream, next.get(), visited.get());
        return visited.host() == std::vector<int>{1, 1, 1};
      },
      "no end after 20000 instructions",
      "chain_kernel");
  expect_fault(
      [](bool fault) {
        setenv("FAKE_CUDA_INSTRUCTIONS", "20000", 1);
        const OwnStream stream;
        const Buffer<unsigned> flags(std::vector<unsigned>(2, 0));
        meet({stream, fault}, flags.get());
        return flags.host() == std::vector<unsigned>{1, 1};
      },
      "a wait for a thread that comes later",
      "thread (0,0,0)");
  const Outcome outcome = in_child([] {
    setenv("FAKE_CUDA_INSTRUCTIONS", "1e6", 1);
    const OwnStream stream;
    const Buffer<int> next(std::vector<int>{-1});
    const Buffer<int> visited(1);
    follow(stream, next.get(), visited.get());
    return 0;
  });
  CHECK(outcome.status == kFaultStatus);
  CHECK(outcome.text.find("FAKE_CUDA_INSTRUCTIONS is '1e6'") != std::string::npos);
}

TEST_CASE("an instruction that is not modelled") {
  const Outcome outcome = in_child([] {
    const OwnStream stream;
    const Buffer<unsigned> out(1);
    read_clock(stream, out.get());
    ok(cudaStreamSynchronize(stream));
    return 0;
  });
  INFO(outcome.text);
  CHECK(outcome.status == kFaultStatus);
  CHECK(outcome.text.find("does not model") != std::string::npos);
  CHECK(outcome.text.find("clock_kernel") != std::string::npos);
}

TEST_CASE("launches a device refuses") {
  const auto result_of = [](auto launch) {
    return in_child([&] {
             const OwnStream stream;
             launch(static_cast<cudaStream_t>(stream));
             return static_cast<int>(cudaGetLastError()) % 256;  // as much as a status holds
           })
        .status;
  };
  CHECK(result_of([](cudaStream_t s) { nothing(s, 1, 32, 0); }) == 0);
  CHECK(result_of([](cudaStream_t s) { nothing(s, 0, 32, 0); }) == cudaErrorInvalidConfiguration);
  CHECK(result_of([](cudaStream_t s) { nothing(s, 1, 0, 0); }) == cudaErrorInvalidConfiguration);
  CHECK(result_of([](cudaStream_t s) { nothing(s, 1, 1025, 0); }) == cudaErrorInvalidConfiguration);
  CHECK(result_of([](cudaStream_t s) { nothing(s, dim3(1, 65536), 32, 0); }) ==
        cudaErrorInvalidConfiguration);
  CHECK(result_of([](cudaStream_t s) { nothing(s, 1, dim3(1, 1, 65), 0); }) ==
        cudaErrorInvalidConfiguration);
  CHECK(result_of([](cudaStream_t s) { nothing(s, 1, 32, 49153); }) == cudaErrorInvalidValue);
  CHECK(result_of([](cudaStream_t s) {
          ok(allow_shared(100000));
          nothing(s, 1, 32, 100000);
        }) == 0);
  CHECK(result_of([](cudaStream_t) { (void)allow_shared(1 << 20); }) == cudaErrorInvalidValue);
  CHECK(result_of([](cudaStream_t s) { at_most_64(s, 64); }) == 0);
  CHECK(result_of([](cudaStream_t s) { at_most_64(s, 65); }) ==
        cudaErrorLaunchOutOfResources % 256);
}
