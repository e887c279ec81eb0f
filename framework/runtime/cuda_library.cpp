#include "framework/runtime/cuda_library.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/plugin_file.h"
#include "framework/core/version.h"
#include "framework/runtime/library_search.h"

#include <dlfcn.h>

#include <string_view>
#include <vector>

namespace learn {
namespace {

const std::string kRuntime = fmt::format("libcudart.so.{}", LEARN_CUDA_MAJOR);

std::string cannot_load(std::string_view why) {
  return fmt::format("the CUDA backend cannot be loaded: {}", why);
}

std::string load() {
  const std::string file = plugin_file("liblearn_cuda.so", LEARN_CUDA_LIBRARY);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string reason = dlerror();
    if (reason.find(kRuntime) == std::string::npos) return cannot_load(reason);
    // The backend is linked with the runtime: one that is loaded already serves it.
    const OpenedLibrary runtime =
        open_library(kRuntime, "", pip_package("cuda-runtime", LEARN_CUDA_MAJOR));
    if (runtime.handle == nullptr) return cannot_load(runtime.obstacle);
    library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return cannot_load(dlerror());
  }
  auto* attach = reinterpret_cast<AttachCudaLibrary*>(dlsym(library, "learn_cuda_attach"));
  if (attach == nullptr) return cannot_load(dlerror());
  if (const std::string_view version = attach(log::share()); version != LEARN_VERSION)
    return cannot_load(
        fmt::format("{} has version {}, but this program has {}", file, version, LEARN_VERSION));
  std::vector<void*> found;
  for (std::size_t i = 0; i < kLearnCudaCallCount; ++i) {
    found.push_back(dlsym(library, kLearnCudaCallSymbols[i]));
    if (found.back() == nullptr) return cannot_load(dlerror());
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    learn_cuda_calls[i] = reinterpret_cast<void (*)()>(found[i]);
  return {};
}

}  // namespace

const std::string& load_cuda_library() {
  static const std::string obstacle = load();
  return obstacle;
}

}  // namespace learn

void learn_cuda_not_loaded() {
  const std::string& obstacle = learn::load_cuda_library();
  learn::fail<learn::DeviceError>(
      "{}",
      obstacle.empty() ? "a function of the CUDA backend was called before a device was chosen"
                       : obstacle);
}
