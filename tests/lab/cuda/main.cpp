#include "framework/runtime/device_choice.h"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

/// Logs the device that it ran on. Returns false if that is not the requested one, for example if
/// the fake runtime should be preloaded but a static one is linked.
bool name_device() {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return false;
  std::printf("device: %s\n", properties.name);
  if (std::string_view(properties.name).starts_with("FAKE"))
    (void)setenv("LEARN_TEST_INTERPRETED", "1", 1);  // see tests/support/gradcheck.h
  const char* const expected = std::getenv("LEARN_EXPECT_DEVICE");
  return expected == nullptr || std::string_view(expected) == properties.name;
}

}  // namespace

// Test discovery runs this program at build time, on machines without a GPU, so listing comes
// first.
int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  bool listing = false;
  for (int i = 1; i < argc; ++i)
    listing |= std::string_view(argv[i]).find("list-test") != std::string_view::npos;
  if (!listing) {
    const learn::CudaStatus status = learn::cuda_status();
    if (status.devices == 0) {
      std::printf("skipped: %s\n", status.reason.c_str());
      return std::getenv("LEARN_REQUIRE_GPU") != nullptr ? 1 : kSkipped;
    }
    if (!name_device()) {
      std::printf("error: not the device LEARN_EXPECT_DEVICE names\n");
      return 1;
    }
  }
  (void)setenv("LEARN_TEST_DEVICE", "cuda", 1);  // see tests/support/gradcheck.h
  (void)setenv("LEARN_DEVICE", "cpu", 0);        // of contexts in addition to those on CUDA
  return doctest::Context(argc, argv).run();
}
