#pragma once
#include "tests/lab/cuda/fake/stop.h"

#include <dlfcn.h>

namespace fakecuda {

/// NVIDIA's library, loaded in addition to the fake of some of its functions: by the loader's
/// rules, or from its path in the build.
class RealLibrary {
 public:
  RealLibrary(const char* name, const char* path) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) stop("cannot load {}: {}", name, dlerror());
  }
  /// Its function of the type of `like`.
  template <class F>
  [[nodiscard]] F* function(F*, const char* symbol) const {
    void* found = dlsym(handle_, symbol);
    if (found == nullptr) stop("the real library has no {}", symbol);
    return reinterpret_cast<F*>(found);
  }

 private:
  void* handle_;
};

}  // namespace fakecuda
