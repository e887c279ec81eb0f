// One of the ranks that faults.py starts, on a GPU: faulty_gpu_rank SCENARIO
// MILLISECONDS_OF_THE_DEADLINE. Does as `learn` does with an error: prints it, and ends all ranks
// with its exit code.
#include "framework/core/error.h"
#include "framework/distributed/communicator_library.h"
#include "framework/distributed/device_communicator.h"
#include "framework/runtime/captured_work.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/transfer.h"
#include "framework/runtime/uploads.h"
#include "framework/tensor/factory.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace learn;

/// A call that may throw, after an error: it must throw the same again.
template <class Call>
void again(const char* what, Call call) {
  try {
    call();
    std::printf("%s: no error\n", what);
  } catch (const RanksError& error) {
    std::printf("%s again: %s\n", what, error.what());
  }
}

/// Waits for the upload of a batch into memory that work before it uses.
void upload_batches(Context& ctx) {
  const std::unique_ptr<Arena> pinned = make_upload_arena(ctx, "batches");
  const Tensor x = full(*pinned, {4}, DType::f32, 1);
  Uploads uploads(ctx, x, x);
  for (int batch = 0; batch < 3; ++batch) (void)uploads.bring(x, x, batch);
  uploads.wait();
}

/// Fails during a sum, and frees memory of the arena before the communicator is destroyed.
template <class Sum>
void fail_during(Sum sum, const std::unique_ptr<Arena>& arena) {
  const Tensor freed(*arena, {100}, DType::f32);
  sum();
  fail<DataError>("this rank's data is damaged");
}

/// Plays a scenario; what it made is destroyed on the way out, as in a training that fails.
void play(std::string_view scenario, Communicator& ranks, Context& ctx) {
  const bool last = ranks.place().rank == ranks.place().ranks - 1;
  Arena arena("test", cpu_pages());
  Tensor values = to_device(ctx, ctx.persistent(), full(arena, {100}, DType::f32, 1));
  Tensor kept = to_device(ctx, ctx.persistent(), full(arena, {100}, DType::f32, 1));
  ranks.keep(kept);
  std::optional<CapturedWork> step;
  if (scenario == "captured")
    step.emplace(ctx, [&] {
      ranks.begin_sum(values);
      ranks.finish();
    });
  const auto sum = [&] {
    if (step) return step->launch();
    ranks.begin_sum(values);
    ranks.finish();
  };
  ranks.set_purpose("the gradients of batch 11");
  sum();
  (void)to_host(ctx, values);
  ranks.set_purpose("the gradients of batch 12");
  if (scenario == "frees memory") fail_during(sum, ctx.make_step_arena("own"));
  if (scenario == "frees pinned memory")
    fail_during([&] { ranks.begin_sum(values); }, make_upload_arena(ctx, "own"));
  if (last && scenario == "stops") {
    std::printf("stopping %d\n", getpid());
    (void)std::fflush(stdout);
    (void)raise(SIGSTOP);
  } else if (last && scenario == "late") {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  } else if (last && scenario == "absent on the host") {
    std::this_thread::sleep_for(std::chrono::seconds(100));
  } else if (last && scenario == "throws") {
    sum();
    fail<DataError>("this rank's data is damaged");
  } else if (last && scenario == "dies") {
    (void)raise(SIGKILL);
  }
  try {
    sum();
    if (scenario == "absent on the host" || (!last && scenario == "waits on the host"))
      (void)gather_from_all(ranks, 1);
    if (scenario == "item")
      (void)values.rows(0, 1).item<float>();
    else if (scenario == "synchronize")
      ctx.cuda().synchronize();
    else if (scenario == "batches")
      upload_batches(ctx);
    else
      (void)to_host(ctx, values);
    sum();
    (void)to_host(ctx, values);
  } catch (const RanksError&) {
    again("sum", sum);
    again("download", [&] { (void)to_host(ctx, values); });
    again("upload",
          [&] { (void)to_device(ctx, ctx.persistent(), full(arena, {1}, DType::f32, 1)); });
    again("item", [&] { (void)values.rows(0, 1).item<float>(); });
    again("gather", [&] { (void)gather_from_all(ranks, 1); });
    // Not watched: returns only because the sums have been aborted.
    (void)cudaDeviceSynchronize();
    std::puts("the device is idle");
    throw;
  }
  if (last && scenario == "absent at the end")
    std::this_thread::sleep_for(std::chrono::seconds(100));
}

}  // namespace

int main(int, char** argv) {
  const std::string_view scenario = argv[1];
  const std::chrono::milliseconds deadline(std::atoi(argv[2]));
  std::unique_ptr<Communicator> host;
  try {
    const std::optional<Launcher> launcher = find_launcher();
    if (!launcher) fail<UsageError>("there is no launcher");
    host = open_communicator(*launcher, {.deadline = deadline});
    const int device = scenario == "one device" ? 0 : host->place().local_rank;
    Context ctx({.device = Device::cuda(device), .threads = 1});
    auto ranks = device_communicator(*host, ctx, deadline);
    play(scenario, *ranks, ctx);
    ranks.reset();
    (void)gather_from_all(*host, 0);
    host.reset();
    std::puts("ended well");
  } catch (const Error& error) {
    (void)std::fprintf(stderr, "error: %s\n", error.what());
    if (!host) return static_cast<int>(error.exit_code());
    (void)std::fflush(nullptr);
    host->end_all(error.exit_code());
  }
  return 0;
}
