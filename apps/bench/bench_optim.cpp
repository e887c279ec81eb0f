// Times a training step's operations on the flat buffers: milliseconds, and GB/s of the traffic
// that the definition needs. The first row, a copy, shows the memory bandwidth.
#include "apps/bench/program.h"
#include "framework/core/seconds_since.h"
#include "framework/kernels/optim/optim.h"
#include "framework/kernels/step/gradients.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

using namespace learn;

namespace {

/// Returns the seconds of the fastest of 30 runs, because the others shared the memory with other
/// processes.
template <class F>
double seconds(F&& run) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < 30; ++i) {
    const auto start = Clock::now();
    run();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

void time_passes(Context& ctx, std::int64_t n) {
  Arena& arena = ctx.persistent();
  const auto random = [&](DType dtype) { return uniform(arena, {n}, dtype, 0.1, 1, 1); };
  Tensor a = random(DType::f32), b = random(DType::f32), c = random(DType::f32);
  Tensor norm(arena, {1}, DType::f32);
  Tensor none;
  kernels::OptimTensors tensors;
  tensors.weight = random(DType::f32);
  tensors.grad = random(DType::f32);
  tensors.hypers =
      DeviceArray<GroupHypers>(ctx, std::array{GroupHypers{.lr = 1e-6F, .weight_decay = 0.01F}});
  tensors.control = DeviceArray<StepControl>(ctx, std::array{StepControl{.step = 5}});
  const auto row = [&](std::string_view what, int bytes, auto&& f) {
    const double s = seconds(f);
    fmt::print("{:24} {:8.3f} ms {:6.1f} GB/s\n",
               what,
               s * 1e3,
               1e-9 * bytes * static_cast<double>(n) / s);
  };
  row("copy", 8, [&] { copy(ctx, a, c); });
  for (const DType working : {DType::f32, DType::f16, DType::bf16}) {
    tensors.half = is_half(working) ? random(working) : Tensor();
    const int half = is_half(working) ? 2 : 0;
    const auto name = [&](const char* what) {
      return fmt::format("{} {}", what, name_of(working));
    };
    row(name("sgd"), 12 + half, [&] { kernels::sgd_step(ctx, tensors, none, false); });
    row(name("sgd momentum"), 20 + half, [&] { kernels::sgd_step(ctx, tensors, a, false); });
    row(name("adam"), 28 + half, [&] { kernels::adam_step(ctx, tensors, a, b); });
    kernels::RmsPropState state{.square = b};
    row(name("rmsprop"), 20 + half, [&] { kernels::rmsprop_step(ctx, tensors, state); });
    if (half == 0) continue;
    row(name("gather gradients"), 6, [&] {
      kernels::unscale_to_master_grads(ctx, tensors.half, c, tensors.control, GradMode::overwrite);
    });
  }
  row("unscale gradients", 8, [&] { kernels::unscale_grads(ctx, c, tensors.control); });
  row("find non-finite", 4, [&] { kernels::find_non_finite(ctx, c, tensors.control); });
  row("norm", 4, [&] { kernels::l2_norm(ctx, {c}, norm); });
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t threads = 0;
  // Darknet's count, about the smallest of the three nets. Its buffers already exceed most caches.
  std::int64_t parameters = 5067776;
  OptionTable options;
  options.group("Options");
  declare_threads(options, threads);
  options.number("parameters", parameters, kCount, "N", "how many");
  return bench::run_program(
      argc,
      argv,
      "bench_optim",
      "Measures the work of a training step on the flat buffers",
      options,
      [&] {
        Context ctx({.device = Device::cpu(), .threads = static_cast<int>(threads)});
        fmt::print("{} parameters, {} threads\n", parameters, ctx.threads().threads());
        time_passes(ctx, parameters);
        return 0;
      });
}
