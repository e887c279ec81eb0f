#include "framework/runtime/cuda/shared_library.h"

#include "framework/core/error.h"
#include "framework/runtime/library_search.h"

#include <dlfcn.h>

namespace learn::cuda {

void* SharedLibrary::find(const char* symbol) {
  if (void* own = dlsym(RTLD_DEFAULT, symbol); own != nullptr) return own;
  if (handle_ == nullptr) {
    const OpenedLibrary opened = open_library(name_, path_, package_);
    check<DeviceError>(opened.handle != nullptr, "CUDA needs {}: {}", name_, opened.obstacle);
    handle_ = opened.handle;
  }
  return dlsym(handle_, symbol);
}

void* SharedLibrary::address(const char* symbol) {
  void* const found = find(symbol);
  if (found == nullptr) fail<DeviceError>("{} has no {}: {}", name_, symbol, dlerror());
  return found;
}

}  // namespace learn::cuda
