#include "framework/runtime/device_choice.h"

#include "framework/core/error.h"
#include "framework/runtime/context.h"
#include "framework/tensor/factory.h"
#include "tests/support/log_file.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

using namespace learn;

namespace {

/// Gives LEARN_DEVICE, which tests have, back.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): never copied
struct KeptVariable {
  std::string before = std::getenv("LEARN_DEVICE");
  ~KeptVariable() { (void)setenv("LEARN_DEVICE", before.c_str(), 1); }
};

}  // namespace

TEST_CASE("devices by name") {
  const KeptVariable kept;
  CHECK(choose_device("cpu") == Device::cpu());
  (void)setenv("LEARN_DEVICE", "cpu", 1);
  CHECK(choose_device("auto") == Device::cpu());
  for (const char* const none : {"auto", ""}) {
    (void)setenv("LEARN_DEVICE", none, 1);
    CHECK(choose_device("auto") == auto_device().device);
  }
  (void)unsetenv("LEARN_DEVICE");
  CHECK(choose_device("auto") == auto_device().device);
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

TEST_CASE("auto: the first GPU that can be used, or the CPU with the reason") {
  const CudaReport whole{.driver = "13.0",
                         .runtime = "13.0",
                         .devices = {{"old", 1, 7, 5}, {"new", 1, 9, 0}},
                         .libraries = {{"cuDNN", "9.19.0", ""}, {"cuBLASLt", "13.0.0", ""}}};
  const CudaStatus two{.built = true, .devices = 2};
  CHECK(auto_device(two, whole).device == Device::cuda(1));
  CHECK(auto_device(two, whole).reason == "new");
  CudaReport old = whole;
  old.devices.pop_back();
  CHECK(auto_device(two, old).device == Device::cpu());
  CHECK(auto_device(two, old).reason == "cuda:0, old, has compute capability 7.5; 8.0 is needed");
  old.devices.push_back({"older", 1, 6, 1});
  CHECK(auto_device(two, old).reason ==
        "cuda:0, old, has compute capability 7.5; 8.0 is needed; cuda:1, older, has compute "
        "capability 6.1; 8.0 is needed");
  CHECK(too_old(2, {"T4", 1, 7, 5}) == "cuda:2, T4, has compute capability 7.5; 8.0 is needed");
  CHECK(too_old(0, {"A100", 1, 8, 0}).empty());
  CHECK(too_old(0, {"RTX 5090", 1, 12, 0}).empty());
  CudaReport bare = whole;
  bare.libraries[0] = {"cuDNN", "", "libcudnn.so.9 cannot be loaded"};
  CHECK(auto_device(two, bare).device == Device::cpu());
  CHECK(auto_device(two, bare).reason == "libcudnn.so.9 cannot be loaded");
  const AutoDevice none = auto_device({.built = true, .devices = 0, .reason = "no driver"}, {});
  CHECK(none.device == Device::cpu());
  CHECK(none.reason == "no driver");
}

TEST_CASE("the CUDA environment is reported, and is never an error") {
  const CudaStatus status = cuda_status();
  const CudaReport report = cuda_report();
  CHECK(report.devices.size() == static_cast<std::size_t>(status.devices));
  CHECK(report.libraries.size() == (status.built ? 2 : 0));
  for (const CudaLibrary& library : report.libraries) {
    CAPTURE(library.name);
    CAPTURE(library.version);
    CHECK(library.version.empty() != library.reason.empty());
    if (!library.version.empty())
      CHECK(std::count(library.version.begin(), library.version.end(), '.') == 2);
  }
  if (status.built) CHECK_FALSE(report.runtime.empty());
  for (const CudaDeviceInfo& gpu : report.devices) {
    CHECK_FALSE(gpu.name.empty());
    CHECK(gpu.memory > 0);
    CHECK(gpu.major > 0);
  }
}

TEST_CASE("a context without a device uses LEARN_DEVICE, or the best device") {
  const KeptVariable kept;
  const test::LogFile log;
  (void)setenv("LEARN_DEVICE", "cpu", 1);
  CHECK(Context().device() == Device::cpu());
  CHECK(log.count("[context]") == 0);
  (void)setenv("LEARN_DEVICE", "gpu", 1);
  CHECK_THROWS_WITH_AS(Context(), doctest::Contains("unknown device 'gpu'"), UsageError);
  CHECK(Context({.reference = true}).device() == Device::cpu());
  const AutoDevice best = auto_device();
  (void)setenv("LEARN_DEVICE", "", 1);
  CHECK(Context().device() == best.device);
  (void)unsetenv("LEARN_DEVICE");
  for (int i = 0; i < 3; ++i) CHECK(Context().device() == best.device);
  // Once for a process, however many contexts it has.
  CHECK(log.count(fmt::format("[context] computing on {}: {}", best.device, best.reason)) == 1);
}

TEST_CASE("one element of a tensor is read on any device, and an array is not one") {
  Context ctx(test::fast_context(1));
  Tensor x = test::put_values(ctx, {2, 2}, {1, 2, 3, 4});
  CHECK(x.range(2, 1).item<float>() == 3);
  Tensor third = x.range(2, 1);
  copy(ctx, x.range(0, 1), third);
  CHECK(x.range(2, 1).view({}).item<float>() == 1);  // what was enqueued before has been done
  CHECK(test::put_values(ctx, {1}, {7}, DType::i64).item<std::int64_t>() == 7);
  CHECK_THROWS_WITH_AS(
      (void)x.item<float>(), doctest::Contains("(2,2) has 4 elements"), ShapeError);
  CHECK_THROWS_AS((void)x.range(0, 1).item<double>(), DTypeError);
}
