#include "tests/lab/cuda/fake/selftest/kernels.h"

#include <cuda_runtime.h>

namespace fakecuda::selftest {
namespace {

template <bool fault>
__global__ void scale_kernel(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (fault || i < n) y[i] = 2 * x[i];
}

template <bool fault>
__global__ void fill_kernel(float* y, int n) {
  const int begin = static_cast<int>(blockIdx.x) * 64;
  const int end = fault ? begin + 64 : min(begin + 64, n);
  for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += 32) y[i] = 1;
}

template <bool fault>
__global__ void packed_kernel(const float* x, float* y, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= n / 4) return;
  float4 v = *reinterpret_cast<const float4*>(x + 4 * i + (fault ? 1 : 0));
  v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
  reinterpret_cast<float4*>(y)[i] = v;
}

template <TreeFault fault>
__global__ void tree_kernel(const float* x, float* sums) {
  __shared__ float box[256];
  const unsigned t = threadIdx.x;
  if (fault != TreeFault::uninitialized || t < 200) box[t] = x[blockIdx.x * 256 + t];
  if (fault != TreeFault::no_first_barrier) __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (t < half || (fault == TreeFault::out_of_bounds && t == 255)) box[t] += box[t + half];
    if (fault == TreeFault::divergent_barrier && t >= half) return;
    if (fault != TreeFault::no_barrier_in_tree) __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = box[0];
}

template <bool fault>
__global__ void two_arrays_kernel(float* y, int offset) {
  __shared__ float a[32];
  __shared__ float b[32];
  const int t = static_cast<int>(threadIdx.x);
  a[t] = 1;
  b[t] = 2;
  __syncthreads();
  y[t] = a[fault ? t + offset : t] + b[31 - t];
}

template <bool fault>
__global__ void dynamic_kernel(const float* x, float* y, int n) {
  extern __shared__ float row[];
  for (int i = static_cast<int>(threadIdx.x); i < n + (fault ? 1 : 0); i += 32)
    row[i] = i < n ? x[i] : 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 32) y[i] = row[n - 1 - i];
}

template <bool fault>
__global__ void two_reductions_kernel(const float* x, float* y) {
  __shared__ float box[2];
  const unsigned warp = threadIdx.x / 32;
  float v = x[threadIdx.x];
  for (int round = 0; round < 2; ++round) {
    const float sum = v + __shfl_xor_sync(0xFFFFFFFFU, v, 16);
    if (!fault) __syncthreads();
    if (threadIdx.x % 32 == 0) box[warp] = sum;
    __syncthreads();
    v = box[0] + box[1];
  }
  y[threadIdx.x] = v;
}

template <bool fault>
__global__ void split_barrier_kernel(float* y) {
  __shared__ float box[64];
  const unsigned t = threadIdx.x;
  if (fault) {
    if (t < 32) {
      box[t] = 1;
      __syncthreads();
    } else {
      box[t] = 2;
      __syncthreads();
      y[t] = box[t];
    }
  } else {
    box[t] = 1;
    __syncthreads();
  }
  if (t < 32) y[t] = box[63 - t];
}

template <bool fault>
__global__ void write_sum_kernel(float* out) {
  if (fault)
    out[0] += 3;
  else
    out[0] = 3;
}

template <bool fault>
__global__ void add_columns_kernel(float* out) {
  if (fault)
    out[threadIdx.x] += 1;
  else
    atomicAdd(&out[threadIdx.x], 1.0F);
}

template <bool fault>
__global__ void swap_kernel(float* scratch, float* y) {
  const unsigned t = threadIdx.x;
  scratch[t] = static_cast<float>(t);
  if (!fault) __syncthreads();
  y[t] = scratch[63 - t];
}

template <ShuffleFault fault>
__global__ void warp_sum_kernel(const float* x, float* y) {
  const unsigned lane = threadIdx.x;
  if (fault == ShuffleFault::exited_lanes && lane >= 20) return;
  float v = x[lane];
  if (fault == ShuffleFault::divergent) {
    if (lane < 16) v += __shfl_xor_sync(0xFFFFFFFFU, v, 1);
    y[lane] = v;
    return;
  }
  if (fault == ShuffleFault::narrow_mask) {
    v += __shfl_xor_sync(0x0000FFFFU, v, 1);
  } else if (fault == ShuffleFault::absent_source) {
    if (lane < 16) v += __shfl_xor_sync(0x0000FFFFU, v, 16);
  } else {
    for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(0xFFFFFFFFU, v, by);
  }
  y[lane] = v;
}

template <bool fault>
__global__ void warp_reverse_kernel(const float* x, float* y) {
  __shared__ float box[32];
  box[threadIdx.x] = x[threadIdx.x];
  if (!fault) __syncwarp();
  y[threadIdx.x] = box[31 - threadIdx.x];
}

template <FenceFault fault>
__global__ void last_block_kernel(const float* x, float* parts, float* out, unsigned* count) {
  __shared__ bool last;
  float v = x[blockIdx.x * 32 + threadIdx.x];
  for (int by = 16; by > 0; by /= 2)
    v += __shfl_down_sync(0xFFFFFFFFU, v, static_cast<unsigned>(by));
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = v;
    if (fault != FenceFault::no_release) __threadfence();
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    if (fault != FenceFault::no_acquire) __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += parts[b];
    *out = sum;
  }
}

template <HistogramFault fault>
__global__ void histogram_kernel(const int* x, unsigned* bins, int n) {
  __shared__ unsigned local[8];
  if (threadIdx.x < 8) local[threadIdx.x] = 0;
  __syncthreads();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) {
    if (fault == HistogramFault::shared)
      local[x[i]] += 1;
    else
      atomicAdd(&local[x[i]], 1U);
  }
  __syncthreads();
  if (threadIdx.x < 8) {
    if (fault == HistogramFault::global)
      bins[threadIdx.x] += local[threadIdx.x];
    else
      atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
  }
}

template <bool fault>
__global__ void read_own_kernel(float* x, float* y) {
  x[threadIdx.x] = 3;
  __syncthreads();
  y[threadIdx.x] = fault ? __ldg(&x[31 - threadIdx.x]) : x[31 - threadIdx.x];
}

__global__ void divide_kernel(const int* x, const int* d, int* y) {
  y[threadIdx.x] = x[threadIdx.x] / d[threadIdx.x];
}

__global__ void assert_kernel(const int* x) {
  if (x[threadIdx.x] < 0) __trap();
}

__global__ void chain_kernel(const int* next, int* visited) {
  for (int i = 0; i >= 0; i = next[i]) visited[i] = 1;
}

template <bool fault>
__global__ void meet_kernel(unsigned* flags) {
  if (threadIdx.x != 0) return;
  atomicExch(&flags[blockIdx.x], 1U);
  if (fault)
    while (atomicAdd(&flags[1 - blockIdx.x], 0U) == 0) {
    }
}

__global__ void clock_kernel(unsigned* out) { *out = static_cast<unsigned>(clock64()); }

__global__ void nothing_kernel() {}
__global__ void __launch_bounds__(64) at_most_64_kernel() {}

__global__ void affine_kernel(const float* x, float* y, int n, float a, float b) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) y[i] = a * x[i] + b;
}

__global__ void accumulate_kernel(const float* x, float* y, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) y[i] += x[i];
}

}  // namespace

void scale_unguarded(Launch l, const float* x, float* y, int n) {
  const auto blocks = static_cast<unsigned>((n + 31) / 32);
  l.fault ? scale_kernel<true><<<blocks, 32, 0, l.stream>>>(x, y, n)
          : scale_kernel<false><<<blocks, 32, 0, l.stream>>>(x, y, n);
}
void fill_chunks(Launch l, float* y, int n) {
  const auto blocks = static_cast<unsigned>((n + 63) / 64);
  l.fault ? fill_kernel<true><<<blocks, 32, 0, l.stream>>>(y, n)
          : fill_kernel<false><<<blocks, 32, 0, l.stream>>>(y, n);
}
void scale_packed(Launch l, const float* x, float* y, int n) {
  l.fault ? packed_kernel<true><<<1, 32, 0, l.stream>>>(x, y, n)
          : packed_kernel<false><<<1, 32, 0, l.stream>>>(x, y, n);
}
void tree_sum(cudaStream_t stream, TreeFault fault, const float* x, float* sums, int blocks) {
  const auto grid = static_cast<unsigned>(blocks);
  switch (fault) {
    case TreeFault::none:
      tree_kernel<TreeFault::none><<<grid, 256, 0, stream>>>(x, sums);
      break;
    case TreeFault::no_first_barrier:
      tree_kernel<TreeFault::no_first_barrier><<<grid, 256, 0, stream>>>(x, sums);
      break;
    case TreeFault::no_barrier_in_tree:
      tree_kernel<TreeFault::no_barrier_in_tree><<<grid, 256, 0, stream>>>(x, sums);
      break;
    case TreeFault::out_of_bounds:
      tree_kernel<TreeFault::out_of_bounds><<<grid, 256, 0, stream>>>(x, sums);
      break;
    case TreeFault::uninitialized:
      tree_kernel<TreeFault::uninitialized><<<grid, 256, 0, stream>>>(x, sums);
      break;
    case TreeFault::divergent_barrier:
      tree_kernel<TreeFault::divergent_barrier><<<grid, 256, 0, stream>>>(x, sums);
      break;
  }
}
void two_arrays(Launch l, float* y) {
  l.fault ? two_arrays_kernel<true><<<1, 32, 0, l.stream>>>(y, 1)
          : two_arrays_kernel<false><<<1, 32, 0, l.stream>>>(y, 1);
}
void dynamic_row(Launch l, const float* x, float* y, int n) {
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(float);
  l.fault ? dynamic_kernel<true><<<1, 32, bytes, l.stream>>>(x, y, n)
          : dynamic_kernel<false><<<1, 32, bytes, l.stream>>>(x, y, n);
}
void two_reductions(Launch l, const float* x, float* y) {
  l.fault ? two_reductions_kernel<true><<<1, 64, 0, l.stream>>>(x, y)
          : two_reductions_kernel<false><<<1, 64, 0, l.stream>>>(x, y);
}
void split_barrier(Launch l, float* y) {
  l.fault ? split_barrier_kernel<true><<<1, 64, 0, l.stream>>>(y)
          : split_barrier_kernel<false><<<1, 64, 0, l.stream>>>(y);
}
void write_sum(Launch l, float* out) {
  l.fault ? write_sum_kernel<true><<<1, 1, 0, l.stream>>>(out)
          : write_sum_kernel<false><<<1, 1, 0, l.stream>>>(out);
}
void add_columns(Launch l, float* out, int blocks) {
  const auto grid = static_cast<unsigned>(blocks);
  l.fault ? add_columns_kernel<true><<<grid, 32, 0, l.stream>>>(out)
          : add_columns_kernel<false><<<grid, 32, 0, l.stream>>>(out);
}
void swap_through_global(Launch l, float* scratch, float* y) {
  l.fault ? swap_kernel<true><<<1, 64, 0, l.stream>>>(scratch, y)
          : swap_kernel<false><<<1, 64, 0, l.stream>>>(scratch, y);
}
void warp_sum(cudaStream_t stream, ShuffleFault fault, const float* x, float* y) {
  switch (fault) {
    case ShuffleFault::none:
      warp_sum_kernel<ShuffleFault::none><<<1, 32, 0, stream>>>(x, y);
      break;
    case ShuffleFault::exited_lanes:
      warp_sum_kernel<ShuffleFault::exited_lanes><<<1, 32, 0, stream>>>(x, y);
      break;
    case ShuffleFault::narrow_mask:
      warp_sum_kernel<ShuffleFault::narrow_mask><<<1, 32, 0, stream>>>(x, y);
      break;
    case ShuffleFault::divergent:
      warp_sum_kernel<ShuffleFault::divergent><<<1, 32, 0, stream>>>(x, y);
      break;
    case ShuffleFault::absent_source:
      warp_sum_kernel<ShuffleFault::absent_source><<<1, 32, 0, stream>>>(x, y);
      break;
  }
}
void warp_reverse(Launch l, const float* x, float* y) {
  l.fault ? warp_reverse_kernel<true><<<1, 32, 0, l.stream>>>(x, y)
          : warp_reverse_kernel<false><<<1, 32, 0, l.stream>>>(x, y);
}
void last_block_sum(cudaStream_t stream,
                    FenceFault fault,
                    const float* x,
                    float* parts,
                    float* out,
                    unsigned* count) {
  switch (fault) {
    case FenceFault::none:
      last_block_kernel<FenceFault::none><<<6, 32, 0, stream>>>(x, parts, out, count);
      break;
    case FenceFault::no_release:
      last_block_kernel<FenceFault::no_release><<<6, 32, 0, stream>>>(x, parts, out, count);
      break;
    case FenceFault::no_acquire:
      last_block_kernel<FenceFault::no_acquire><<<6, 32, 0, stream>>>(x, parts, out, count);
      break;
  }
}
void histogram(cudaStream_t stream, HistogramFault fault, const int* x, unsigned* bins, int n) {
  const auto blocks = static_cast<unsigned>((n + 63) / 64);
  switch (fault) {
    case HistogramFault::none:
      histogram_kernel<HistogramFault::none><<<blocks, 64, 0, stream>>>(x, bins, n);
      break;
    case HistogramFault::shared:
      histogram_kernel<HistogramFault::shared><<<blocks, 64, 0, stream>>>(x, bins, n);
      break;
    case HistogramFault::global:
      histogram_kernel<HistogramFault::global><<<blocks, 64, 0, stream>>>(x, bins, n);
      break;
  }
}
void read_own_writes(Launch l, float* x, float* y) {
  l.fault ? read_own_kernel<true><<<1, 32, 0, l.stream>>>(x, y)
          : read_own_kernel<false><<<1, 32, 0, l.stream>>>(x, y);
}
void divide(cudaStream_t stream, const int* x, const int* d, int* y) {
  divide_kernel<<<1, 32, 0, stream>>>(x, d, y);
}
void assert_positive(cudaStream_t stream, const int* x) { assert_kernel<<<1, 32, 0, stream>>>(x); }
void read_clock(cudaStream_t stream, unsigned* out) { clock_kernel<<<1, 1, 0, stream>>>(out); }
void nothing(cudaStream_t stream, dim3 grid, dim3 block, std::size_t dynamic_shared) {
  nothing_kernel<<<grid, block, dynamic_shared, stream>>>();
}
void at_most_64(cudaStream_t stream, int threads) {
  at_most_64_kernel<<<1, static_cast<unsigned>(threads), 0, stream>>>();
}
cudaError_t allow_shared(int bytes) {
  return cudaFuncSetAttribute(nothing_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
void affine(cudaStream_t stream, const float* x, float* y, int n, float a, float b) {
  affine_kernel<<<1, 1024, 0, stream>>>(x, y, n, a, b);
}
void accumulate(cudaStream_t stream, const float* x, float* y, int n) {
  accumulate_kernel<<<1, 1024, 0, stream>>>(x, y, n);
}

void follow(cudaStream_t stream, const int* next, int* visited) {
  chain_kernel<<<1, 1, 0, stream>>>(next, visited);
}
void meet(Launch l, unsigned* flags) {
  l.fault ? meet_kernel<true><<<2, 32, 0, l.stream>>>(flags)
          : meet_kernel<false><<<2, 32, 0, l.stream>>>(flags);
}

}  // namespace fakecuda::selftest
