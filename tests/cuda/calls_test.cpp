// The library of the CUDA backend, called before anybody has looked for a device.
#include "framework/core/error.h"
#include "framework/kernels/reduce/reduce_cuda.h"
#include "framework/runtime/cuda_library.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("a call before the library is there is an error, not a jump to nowhere") {
  CHECK_THROWS_WITH_AS((void)cuda::sum_workspace(1000),
                       doctest::Contains("before a device was chosen"),
                       DeviceError);
  REQUIRE(load_cuda_library() == "");
  CHECK(cuda::sum_workspace(1000) > 0);
}
