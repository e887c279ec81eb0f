#include "apps/experiment/device_section.h"

#include "callbacks/cuda_graph.h"
#include "framework/core/log.h"
#include "framework/learner/learner.h"
#include "framework/runtime/device_choice.h"

namespace learn {
namespace {

/// Warns of options that have an effect only on a GPU.
void warn_on_cpu(const DeviceSection& o, bool tf32) {
  if (tf32) log::warn("[device] --precision tf32 is fp32 on the CPU");
  const CudaOptions usual;
  for (const auto& [name, differs] :
       {std::pair{"tune", o.cuda.tune != usual.tune},
        {"deterministic", o.cuda.deterministic != usual.deterministic},
        {"plan-cache", o.cuda.plan_cache != usual.plan_cache}})
    if (differs) log::warn("[device] --{} has no effect on the CPU", name);
}

}  // namespace

void declare_threads(OptionTable& t, std::int64_t& threads) {
  t.number(
       "threads", threads, {.low = 0, .high = 1024}, "N", "CPU threads; 0: one per physical core")
      .may_change = true;
}

void declare_winograd(OptionTable& t, bool& winograd) {
  t.flag("winograd",
         winograd,
         "use Winograd's algorithm for 3x3 and 5x5 windows where it is faster; plain sums have an "
         "eighth to a half of the rounding errors, and training on a CPU takes twice as long");
}

void declare_cuda_options(OptionTable& t, CudaOptions& o) {
  t.flag("deterministic",
         o.deterministic,
         "CUDA: use only algorithms with the same bits in every run");
  t.flag("tune", o.tune, "CUDA: time each convolution's best algorithms when it first runs")
      .may_change = true;
  t.text("plan-cache",
         o.plan_cache,
         "DIR",
         "CUDA: folder that saves the selected convolution algorithms for later runs")
      .may_change = true;
}

void DeviceSection::declare(OptionTable& t) {
  t.group("Device");
  t.text("device",
         device,
         "auto|cpu|cuda[:N]",
         "device; auto: a GPU if there is one, see 'learn doctor'")
      .may_change = true;
  t.flag("cuda-graph", cuda_graph, "CUDA: run each training step as one graph launch");
  declare_winograd(t, winograd);
  declare_cuda_options(t, cuda);
  declare_threads(t, threads);
  t.number(
      "seed", seed, kNotNegative, "N", "seed of initial weights, order, augmentation and dropout");
}

ContextOptions DeviceSection::context_options(bool tf32) const {
  ContextOptions options{.device = choose_device(device, local_rank),
                         .threads = static_cast<int>(threads),
                         .seed = static_cast<std::uint64_t>(seed),
                         .winograd = winograd,
                         .cuda = cuda};
  options.cuda.tf32 = tf32;
  if (options.device->is_cpu()) warn_on_cpu(*this, tf32);
  return options;
}

void DeviceSection::add_callbacks(Learner& learn) const {
  if (cuda_graph) learn.add<callbacks::CudaGraph>();
}

}  // namespace learn
