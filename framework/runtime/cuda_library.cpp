#include "framework/runtime/cuda_library.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/version.h"
#include "framework/runtime/library_search.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

namespace learn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "liblearn_cuda.so";
const std::string kRuntime = fmt::format("libcudart.so.{}", LEARN_CUDA_MAJOR);

/// The folder of the program, or of the shared library that this code is a part of.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&load_cuda_library), &info) == 0) return {};
  std::error_code error;
  return fs::canonical(info.dli_fname, error).parent_path();
}

/// Uses the first existing file: one that cannot be loaded is not skipped for that of another
/// build.
std::string chosen_file() {
  const fs::path folder = own_folder();
  const std::array<fs::path, 3> places{
      folder / kName, folder.parent_path() / "lib" / kName, LEARN_CUDA_LIBRARY};
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::exists(place, error)) return place.string();
  }
  return kName;
}

std::string cannot_load(std::string_view why) {
  return fmt::format("the CUDA backend cannot be loaded: {}", why);
}

std::string load() {
  const std::string file = chosen_file();
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
