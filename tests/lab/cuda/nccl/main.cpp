// Test cases that all ranks of a launcher run together, each on its device. Without a launcher this
// process is the only rank.
#include "framework/core/error.h"
#include "framework/distributed/communicator_library.h"
#include "framework/distributed/device_communicator.h"
#include "framework/runtime/cuda_report.h"
#include "tests/lab/cuda/nccl/world.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace learn;

struct Ranks {
  std::unique_ptr<Communicator> host;
  std::unique_ptr<Context> ctx;
  std::unique_ptr<Communicator> world;
};
Ranks& ranks() {
  static Ranks all;
  return all;
}

int run(int argc, char** argv) {
  const Launcher launcher = find_launcher().value_or(
      Launcher{.name = "no launcher", .ranks = 1, .local_rank = 0, .meeting = Meeting{}});
  Ranks& all = ranks();
  all.host = open_communicator(launcher, {.deadline = std::chrono::seconds(120)});
  const auto device = static_cast<std::size_t>(all.host->place().local_rank);
  const std::vector<CudaDeviceInfo> devices = cuda_report().devices;
  const char* const expected = std::getenv("LEARN_EXPECT_DEVICE");
  if (expected != nullptr && device < devices.size() && devices[device].name != expected) {
    std::printf("error: the device is %s\n", devices[device].name.c_str());
    return 1;
  }
  all.ctx = std::make_unique<Context>(
      ContextOptions{.device = Device::cuda(all.host->place().local_rank), .threads = 1});
  all.world = device_communicator(*all.host, *all.ctx, std::chrono::seconds(120));
  const int failed = doctest::Context(argc, argv).run();
  all.world.reset();
  all.ctx.reset();
  all.host.reset();
  return failed;
}

}  // namespace

learn::Communicator& learn::testing::world() { return *ranks().world; }
learn::Communicator& learn::testing::host() { return *ranks().host; }
learn::Context& learn::testing::gpu() { return *ranks().ctx; }

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const learn::Error& error) {
    (void)std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
