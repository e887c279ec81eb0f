// Calls the library of the CUDA backend before a device was looked for.
#include "framework/core/error.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/cuda_library.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("a call before the library is loaded is an error, not a jump to address zero") {
  CHECK_THROWS_WITH_AS(
      (void)cuda::status(), doctest::Contains("before a device was chosen"), DeviceError);
  REQUIRE(load_cuda_library() == "");
  CHECK_NOTHROW((void)cuda::status());
}
