#include "framework/runtime/cuda/shared_library.h"

#include "framework/core/error.h"

#include <dlfcn.h>

namespace learn::cuda {

void* SharedLibrary::address(const char* symbol) {
  if (void* own = dlsym(RTLD_DEFAULT, symbol); own != nullptr) return own;
  if (handle_ == nullptr) handle_ = dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const std::string reason = dlerror();
    if (!path_.empty()) handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr)
      fail<DeviceError>(
          "CUDA needs {}, which cannot be loaded ({}): install it or add its folder to "
          "LD_LIBRARY_PATH",
          name_,
          reason);
  }
  void* found = dlsym(handle_, symbol);
  if (found == nullptr) fail<DeviceError>("{} has no {}: {}", name_, symbol, dlerror());
  return found;
}

}  // namespace learn::cuda
