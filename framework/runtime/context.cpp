#include "framework/runtime/context.h"

#include "framework/core/device.h"
#include "framework/core/environment.h"
#include "framework/core/log.h"
#include "framework/core/threads/processors.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/device_choice.h"
#include "framework/runtime/memory_limit.h"

#include <fmt/core.h>

#include <string>

namespace learn {

namespace {

std::unique_ptr<PageSource> pages_for(Device device) {
  if constexpr (kHaveCuda)
    if (device.is_cuda()) return cuda::cuda_pages(device.index);
  return cpu_pages();
}

}  // namespace

Device default_device() {
  if (environment("LEARN_DEVICE") != nullptr) return choose_device("auto");
  const AutoDevice best = auto_device();
  const std::string text = fmt::format("[context] computing on {}: {}", best.device, best.reason);
  if (first_time(text)) log::info("{}", text);  // a program may have many contexts
  return best.device;
}

Context::Context(const ContextOptions& options)
    : options_(options),
      device_(options.device      ? *options.device
              : options.reference ? Device::cpu()
                                  : default_device()) {
  if (options.threads < 0)
    fail<UsageError>("threads must be 0 (all cores) or more, not {}", options.threads);
  const int processors = usable_processors();
  if (options.threads > 2 * processors)
    log::warn("[context] {} threads on {} processor{}: more threads than cores gain nothing",
              options.threads,
              processors,
              processors == 1 ? "" : "s");
  threads_ = std::make_unique<ThreadPool>(threads_or_cores(options.threads));
  if (device_.is_cuda()) {
    (void)choose_device(to_string(device_));
    if constexpr (kHaveCuda) cuda_ = std::make_shared<cuda::Runtime>(device_.index);
  }
  const std::size_t limit = options.memory_limit ? *options.memory_limit : memory_limit();
  if (limit > 0) budget_ = make_memory_budget(limit);
  persistent_ = std::make_unique<Arena>("persistent", make_pages(), options.arena);
  if (options.constant_weights) prepared_ = std::make_unique<PreparedWeights>(*persistent_);
  step_ = make_step_arena("step");
  current_step_ = step_.get();
}

Context::~Context() = default;

std::unique_ptr<Arena> Context::make_step_arena(std::string name) const {
  return std::make_unique<Arena>(std::move(name), make_pages(), options_.arena);
}

std::unique_ptr<PageSource> Context::make_pages() const {
  std::unique_ptr<PageSource> pages = pages_for(device_);
  return budget_ == nullptr ? std::move(pages) : limited(std::move(pages), budget_);
}

cuda::Runtime& Context::cuda() {
  check<DeviceError>(cuda_ != nullptr, "this context runs on {}", device_);
  return *cuda_;
}

std::size_t Context::device_bytes_used() const {
  if constexpr (kHaveCuda)
    if (cuda_ != nullptr) return cuda_->device_bytes_used();
  return 0;
}

}  // namespace learn
