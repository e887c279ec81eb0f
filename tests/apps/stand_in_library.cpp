// A library in the place of liblearn_cuda.so: it says that it is of LEARN_VERSION, and holds no
// function.
#include "framework/runtime/cuda_library.h"

extern "C" [[gnu::visibility("default")]] const char* learn_cuda_attach(
    const std::shared_ptr<void>&) {
  return LEARN_VERSION;
}
