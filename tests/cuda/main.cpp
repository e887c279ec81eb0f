#define DOCTEST_CONFIG_IMPLEMENT
#include "framework/backend/device_choice.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

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
  }
  return doctest::Context(argc, argv).run();
}
