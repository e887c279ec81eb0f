// The library of the CUDA backend, called before anybody has looked for a device.
#include "framework/backend/cuda/reduce.h"
#include "framework/backend/cuda_library.h"
#include "framework/core/error.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::backend;

TEST_CASE("a call before the library is there is an error, not a jump to nowhere") {
  CHECK_THROWS_WITH_AS((void)cuda::sum_workspace(1000),
                       doctest::Contains("before a device was chosen"),
                       DeviceError);
  REQUIRE(load_cuda_library() == "");
  CHECK(cuda::sum_workspace(1000) > 0);
}
