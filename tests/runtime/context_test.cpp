#include "framework/runtime/context.h"

#include "framework/core/threads/processors.h"
#include "framework/kernels/common/step_control.h"
#include "framework/runtime/captured_work.h"
#include "framework/runtime/device_array.h"
#include "framework/runtime/dispatch.h"
#include "framework/runtime/uploads.h"
#include "framework/tensor/factory.h"
#include "tests/support/log_file.h"
#include "tests/support/other_device.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("more than twice as many threads as processors give a warning, and are started") {
  const int processors = usable_processors();
  CHECK(physical_cores() <= processors);
  for (const int more : {0, 1}) {
    const test::LogFile log;
    Context ctx({.device = Device::cpu(), .threads = 2 * processors + more});
    CHECK(ctx.threads().threads() == 2 * processors + more);
    CHECK(log.count("more threads than cores gain nothing") == static_cast<std::size_t>(more));
  }
}

TEST_CASE("fewer threads than none are refused") {
  CHECK_THROWS_WITH_AS(Context({.device = Device::cpu(), .threads = -1}),
                       "threads must be 0 (all cores) or more, not -1",
                       UsageError);
}

TEST_CASE("CUDA functions on a CPU are refused with its name") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  const Tensor x = zeros(ctx.step(), {2});
  CHECK_THROWS_WITH_AS(
      (void)ctx.cuda(), doctest::Contains("this context runs on cpu"), DeviceError);
  CHECK_THROWS_WITH_AS(CapturedWork(ctx, [] {}),
                       doctest::Contains("work can be captured on a CUDA device, not on cpu"),
                       DeviceError);
  CHECK_THROWS_WITH_AS(
      Uploads(ctx, x, x), doctest::Contains("nothing can be uploaded to cpu"), DeviceError);
}

TEST_CASE("tensors and arrays of another device, shape or dtype are refused") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  Tensor x = zeros(ctx.step(), {2});
  const Tensor elsewhere = test::on_other_device({2});
  CHECK_THROWS_WITH_AS(copy(ctx, elsewhere, x),
                       doctest::Contains("copy: a tensor is on cuda:1, the context on cpu"),
                       DeviceError);
  CHECK_THROWS_WITH_AS((void)to_device(ctx, ctx.step(), elsewhere),
                       doctest::Contains("to_device: the source is on cuda:1 already"),
                       DeviceError);
  CHECK_THROWS_WITH_AS(copy(ctx, zeros(ctx.step(), {3}), x),
                       doctest::Contains("copy: shapes differ: (3) and (2)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(copy(ctx, zeros(ctx.step(), {2}, DType::f64), x),
                       doctest::Contains("copy: dtypes differ: f64 and f32"),
                       DTypeError);
  const DeviceArray<GroupHypers> array(ctx.step(), 2);
  CHECK_THROWS_WITH_AS(
      (void)array.at(2), doctest::Contains("value 2 does not exist among 2"), ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)array.range(1, 2), doctest::Contains("values 1 to 3 do not exist among 2"), ShapeError);
  CHECK_THROWS_WITH_AS(kernels::check_device(ctx, "op", DeviceArray<GroupHypers>()),
                       doctest::Contains("op: the control block is not allocated"),
                       Error);
}

#ifndef __SANITIZE_ADDRESS__  // which ends the program where malloc returns null
TEST_CASE("a tensor too large for the host is refused with its size") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  const std::size_t bytes = std::size_t{1} << 50U;
  const Tensor huge(
      Storage(nullptr, bytes, Device::cpu(), [] {}), 0, {std::int64_t{1} << 50U}, DType::u8);
  CHECK_THROWS_WITH_AS((void)to_host(ctx, huge),
                       "cannot reserve 1125899906842624 bytes of host memory",
                       OutOfMemoryError);
}
#endif
