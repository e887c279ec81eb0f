// planted_faults NAME: runs a kernel with the fault of that name, or without one ("none"): whether
// a sanitizer finds what it looks for, in kernels that are named as ours are. Exit status 0 if all
// calls succeeded, 1 if not, 2 for another name.
#include <cuda_runtime.h>

#include <cstdio>
#include <string_view>

namespace learn::planted {
namespace {

constexpr int kThreads = 64;

/// x holds fewer numbers than the block has threads.
__global__ void out_of_bounds_kernel(float* x) { x[threadIdx.x] = 1; }

/// Threads read what others write into shared memory, with no barrier between.
__global__ void race_kernel(float* x) {
  __shared__ float box[kThreads];
  box[threadIdx.x] = static_cast<float>(threadIdx.x);
  x[threadIdx.x] = box[kThreads - 1 - threadIdx.x];
}

/// x was never written.
__global__ void uninitialized_kernel(float* x) { x[threadIdx.x] += 1; }

/// One thread waits for threads of a warp to which it does not say that it belongs.
__global__ void barrier_kernel(float* x) {
  const unsigned lower = __ballot_sync(0xFFFFFFFFU, threadIdx.x < 16);
  if (threadIdx.x <= 16) __syncwarp(lower);
  x[threadIdx.x] = 1;
}

__global__ void sound_kernel(float* x) {
  __shared__ float box[kThreads];
  box[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  x[threadIdx.x] = box[kThreads - 1 - threadIdx.x];
  x[threadIdx.x] += 1;
}

int run(std::string_view name) {
  float* x = nullptr;
  const int numbers = name == "out_of_bounds" ? kThreads - 1 : kThreads;
  if (cudaMalloc(&x, numbers * sizeof(float)) != cudaSuccess) return 1;
  if (name == "out_of_bounds")
    out_of_bounds_kernel<<<1, kThreads>>>(x);
  else if (name == "race")
    race_kernel<<<1, kThreads>>>(x);
  else if (name == "uninitialized")
    uninitialized_kernel<<<1, kThreads>>>(x);
  else if (name == "barrier")
    barrier_kernel<<<1, 32>>>(x);
  else if (name == "none")
    sound_kernel<<<1, kThreads>>>(x);
  else
    return 2;
  if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return 1;
  return cudaFree(x) == cudaSuccess ? 0 : 1;
}

}  // namespace
}  // namespace learn::planted

int main(int argc, char** argv) {
  if (argc == 2) return learn::planted::run(argv[1]);
  std::fprintf(stderr, "usage: planted_faults out_of_bounds|race|uninitialized|barrier|none\n");
  return 2;
}
