#pragma once
#include "framework/runtime/cuda/stream.h"
#include "framework/runtime/cuda_options.h"
#include "framework/tensor/arena.h"

namespace learn::cuda {

/// Where a call of cuDNN or cuBLAS runs and what it may use.
struct LibraryResources {
  Stream stream;
  Arena& workspace;  ///< scratch memory, given back when the call returns: the stream keeps order
  const CudaOptions& options;
};

}  // namespace learn::cuda
