#pragma once

struct CUstream_st;

namespace learn::cuda {

/// cudaStream_t, without CUDA's headers, so that every header here can be read by a CPU-only build.
using Stream = CUstream_st*;

}  // namespace learn::cuda
