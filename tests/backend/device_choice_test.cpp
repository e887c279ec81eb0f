#include "framework/backend/device_choice.h"

#include "framework/backend/context.h"
#include "framework/core/error.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("devices by name") {
  CHECK(choose_device("cpu") == Device::cpu());
  CHECK(choose_device("auto") == Device::cpu());
  CHECK_THROWS_AS((void)choose_device("gpu"), UsageError);
  CHECK_THROWS_AS((void)choose_device("cuda:x"), UsageError);
  CHECK_THROWS_AS((void)choose_device("cuda:-1"), UsageError);
  CHECK_THROWS_AS((void)choose_device(""), UsageError);
}

TEST_CASE("an absent device is an error with the reason, never a crash") {
  const CudaStatus status = cuda_status();
  if (status.devices > 0) {
    CHECK(status.reason.empty());
    return;
  }
  CHECK_FALSE(status.reason.empty());
  CHECK_THROWS_WITH_AS(
      (void)choose_device("cuda"), doctest::Contains(status.reason.c_str()), DeviceError);
  CHECK_THROWS_AS(Context({.device = Device::cuda()}), DeviceError);
}
