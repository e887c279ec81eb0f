#pragma once
#include "framework/backend/cuda/stream.h"
#include "framework/backend/cuda_options.h"
#include "framework/tensor/arena.h"

namespace learn::backend::cuda {

/// Where a call of cuDNN or cuBLAS runs and what it may use.
struct LibraryResources {
  Stream stream;
  Arena& workspace;  ///< scratch memory, given back when the call returns: the stream keeps order
  const CudaOptions& options;
};

}  // namespace learn::backend::cuda
