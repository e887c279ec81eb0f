// Faults in the use of cuDNN and cuBLASLt that their fakes must find. The program is started with
// the fake runtime preloaded; each fault is committed in a child process, which must not survive
// it.
#include "framework/core/fnv1a.h"
#include "framework/kernels/common/cuda/pad_channels.h"
#include "framework/kernels/conv/cuda/conv_plan.h"
#include "framework/kernels/product/cuda/matmul.h"
#include "framework/runtime/cuda/runtime.h"
#include "tests/lab/cuda/fake/selftest/child.h"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

using namespace learn;
using namespace learn::cuda;
using fakecuda::selftest::in_child;
using fakecuda::selftest::Outcome;

namespace {

constexpr int kFaultStatus = 67;

/// Device memory of exactly that size, all written unless asked otherwise.
std::byte* device_memory(std::size_t bytes, bool written = true) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) != cudaSuccess) return nullptr;
  if (written && cudaMemset(memory, 0, bytes) != cudaSuccess) return nullptr;
  return static_cast<std::byte*>(memory);
}

/// A product or convolution with all it needs, before anything is wrong with it.
struct Product {
  cublas::MatmulProblem problem{
      .m = 8, .n = 4, .k = 16, .transpose_a = true, .lda = 16, .ldb = 16, .ldd = 8};
  std::byte* a = device_memory(std::size_t{16} * 8 * 4);
  std::byte* b = device_memory(std::size_t{16} * 4 * 4);
  std::byte* d = device_memory(std::size_t{8} * 4 * 4, false);
  std::byte* bias = device_memory(std::size_t{8} * 4);

  int run() {
    Arena arena("scratch", cuda_pages(0), {.exact = true});
    const CudaOptions options;
    cublas::Matmuls matmuls(options);
    problem.epilogue = cublas::Epilogue::bias;
    Runtime runtime(0);
    const bool done =
        matmuls.run({runtime.compute(), arena, options, runtime}, problem, a, b, d, bias);
    runtime.synchronize();
    return done ? 0 : 1;
  }
};

/// Five products in one call.
struct Products {
  cublas::MatmulProblem problem{
      .count = 5, .m = 8, .n = 4, .k = 16, .transpose_a = true, .lda = 16, .ldb = 16, .ldd = 8};
  std::byte* a = device_memory(std::size_t{5} * 16 * 8 * 4);
  std::byte* b = device_memory(std::size_t{5} * 16 * 4 * 4);
  std::byte* d = device_memory(std::size_t{5} * 8 * 4 * 4, false);

  int run() const {
    Arena arena("scratch", cuda_pages(0), {.exact = true});
    const CudaOptions options;
    cublas::Matmuls matmuls(options);
    Runtime runtime(0);
    const bool done = matmuls.run({runtime.compute(), arena, options, runtime}, problem, a, b, d);
    runtime.synchronize();
    return done ? 0 : 1;
  }
};

struct Convolution {
  cudnn::ConvProblem problem{cudnn::ConvPass::backward_weight,
                             {.n = 2,
                              .h = 8,
                              .w = 8,
                              .c = 8,
                              .k = 16,
                              .r = 3,
                              .s = 3,
                              .p = 8,
                              .q = 8,
                              .options = Conv2dOptions::symmetric(1, 1)},
                             DType::f16};
  std::byte* x = device_memory(std::size_t{2} * 8 * 8 * 8 * 2);
  std::byte* w = device_memory(std::size_t{16} * 9 * 8 * 2, false);
  std::byte* y = device_memory(std::size_t{2} * 8 * 8 * 16 * 2);
  std::size_t missing_scratch = 0;

  int run() const {
    cudnnHandle_t handle = nullptr;
    cudnn::check_cudnn(cudnn::api().create(&handle), "cannot be started");
    const cudnn::DeviceDescription device(handle);
    const auto plans = cudnn::find_plans(device, problem, {}, 64);
    const auto plan = std::find_if(
        plans.begin(), plans.end(), [](const cudnn::ConvPlan& p) { return p.workspace() > 0; });
    if (plan == plans.end()) return 1;
    Runtime runtime(0);
    cudnn::check_cudnn(cudnn::api().set_stream(handle, runtime.compute()), "refuses a stream");
    std::byte* scratch = device_memory(plan->workspace() - missing_scratch, false);
    plan->run(handle, {x, w, y}, scratch);
    runtime.synchronize();
    print_hash();
    return 0;
  }

  /// Hash of the result's bits, to compare runs.
  void print_hash() const {
    std::vector<std::uint16_t> halves(std::size_t{16} * 9 * 8);
    if (cudaMemcpy(halves.data(), w, halves.size() * 2, cudaMemcpyDeviceToHost) != cudaSuccess)
      return;
    std::fprintf(stderr, "bits %llx\n", static_cast<unsigned long long>(fnv1a_words(halves)));
  }
};

template <class Use>
void expect_found(const char* report, const std::function<void(Use&)>& spoil) {
  const Outcome outcome = in_child([&] {
    Use use;
    spoil(use);
    return use.run();
  });
  CAPTURE(outcome.text);
  CHECK(outcome.status == kFaultStatus);
  CHECK(outcome.text.find(report) != std::string::npos);
}

template <class Use>
void expect_none() {
  const Outcome outcome = in_child([] { return Use().run(); });
  CAPTURE(outcome.text);
  CHECK(outcome.status == 0);
}

}  // namespace

TEST_CASE("the fake cuDNN finds operands that are too short, misaligned, unwritten or elsewhere") {
  expect_none<Convolution>();
  expect_found<Convolution>("leave their allocation",
                            [](Convolution& c) { c.y = device_memory(100); });
  expect_found<Convolution>("leave their allocation",
                            [](Convolution& c) { c.w = device_memory(std::size_t{16} * 9 * 8); });
  expect_found<Convolution>("no multiple of 16 bytes", [](Convolution& c) {
    c.x = device_memory(std::size_t{2} * 8 * 8 * 8 * 2 + 2) + 2;
  });
  expect_found<Convolution>("was not written", [](Convolution& c) {
    c.x = device_memory(std::size_t{2} * 8 * 8 * 8 * 2, false);
  });
  expect_found<Convolution>("was not written", [](Convolution& c) { c.problem.accumulate = true; });
  expect_found<Convolution>("cudnn: tensor", [](Convolution& c) {
    c.y = reinterpret_cast<std::byte*>(&c);  // the host's
  });
  expect_found<Convolution>("cudnn: workspace", [](Convolution& c) { c.missing_scratch = 1; });
}

TEST_CASE("a hostile library gives other bits, the same in each run") {
  // Thirds of f16 in x and sevenths in y: sums that need rounding.
  const auto fill = [](const Convolution& c, std::uint16_t third, std::uint16_t seventh) {
    const std::vector<std::uint16_t> x(std::size_t{2} * 8 * 8 * 8, third);
    const std::vector<std::uint16_t> y(std::size_t{2} * 8 * 8 * 16, seventh);
    return cudaMemcpy(c.x, x.data(), x.size() * 2, cudaMemcpyHostToDevice) == cudaSuccess &&
           cudaMemcpy(c.y, y.data(), y.size() * 2, cudaMemcpyHostToDevice) == cudaSuccess;
  };
  const auto run = [&](bool hostile) {
    return in_child([&] {
      if (hostile) (void)setenv("FAKE_CUDA_LIBRARIES", "hostile", 1);
      const Convolution c;
      return fill(c, 0x3555, 0x3092) ? c.run() : 1;
    });
  };
  const Outcome kind = run(false);
  const Outcome hostile = run(true);
  CAPTURE(kind.text);
  CHECK(kind.status == 0);
  CHECK(hostile.status == 0);
  CHECK(kind.text.starts_with("bits "));
  CHECK(hostile.text != kind.text);
  CHECK(hostile.text == run(true).text);
}

TEST_CASE("a kernel that reads what a library wrote is found, where such writes do not count") {
  const auto run = [](bool counts, bool by_kernel) {
    return in_child([&] {
      if (!counts) (void)setenv("FAKE_CUDA_LIBRARIES", "unwritten", 1);
      Product p;
      if (const int status = p.run(); status != 0) return status;
      if (!by_kernel) {
        p.problem.accumulate = true;  // a library reads them
        return p.run();
      }
      Runtime runtime(0);
      unpad_channels(runtime.compute(),
                     reinterpret_cast<const float*>(p.d),
                     4,
                     8,
                     reinterpret_cast<float*>(device_memory(std::size_t{8} * 4 * 4, false)),
                     8,
                     GradMode::overwrite);
      runtime.synchronize();
      return 0;
    });
  };
  CHECK(run(true, true).status == 0);
  CHECK(run(false, false).status == 0);
  const Outcome found = run(false, true);
  CAPTURE(found.text);
  CHECK(found.status == kFaultStatus);
  CHECK(found.text.find("unpad_kernel") != std::string::npos);
}

TEST_CASE("the fake cuBLASLt finds operands that are too short, misaligned or unwritten") {
  expect_none<Product>();
  expect_found<Product>("cublasLt: b", [](Product& p) { p.b = device_memory(100); });
  expect_found<Product>("cublasLt: bias", [](Product& p) { p.bias = device_memory(16); });
  expect_found<Product>("no multiple of 16 bytes",
                        [](Product& p) { p.a = device_memory(std::size_t{16} * 8 * 4 + 4) + 4; });
  expect_found<Product>("was not written", [](Product& p) { p.problem.accumulate = true; });
  expect_found<Product>("not modelled", [](Product& p) { p.problem.ldd = 16; });
  expect_none<Products>();
  expect_found<Products>("cublasLt: a", [](Products& p) { p.a = device_memory(16 * 8 * 4); });
  expect_found<Products>("cublasLt: d",
                         [](Products& p) { p.d = device_memory(4 * 8 * 4 * 4, false); });
  expect_found<Products>("do not all begin at 16 bytes", [](Products& p) {
    p.problem.n = 3;
    p.problem.m = p.problem.ldd = 7;
  });
}
