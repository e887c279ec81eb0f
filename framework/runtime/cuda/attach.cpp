#include "framework/core/log.h"
#include "framework/core/version.h"
#include "framework/runtime/cuda_library.h"

extern "C" [[gnu::visibility("default")]] const char* learn_cuda_attach(
    const std::shared_ptr<void>& log);

const char* learn_cuda_attach(const std::shared_ptr<void>& log) {
  static_assert(std::is_same_v<decltype(learn_cuda_attach), learn::AttachCudaLibrary>);
  learn::log::adopt(log);
  return LEARN_VERSION;
}
