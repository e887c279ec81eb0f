#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

/// Small kernels, each with a switch that plants the fault its name tells. Without it they are
/// correct.
namespace fakecuda::selftest {

struct Launch {
  cudaStream_t stream = nullptr;
  bool fault = false;
};

/// y = 2 x. Fault: the tail is not guarded.
void scale_unguarded(Launch launch, const float* x, float* y, int n);
/// In chunks of 64 per block. Fault: the last chunk is not cut.
void fill_chunks(Launch launch, float* y, int n);
/// With 16-byte accesses. Fault: they start one element in.
void scale_packed(Launch launch, const float* x, float* y, int n);
/// Sum of 256 numbers per block by a tree in shared memory.
enum class TreeFault {
  none,
  no_first_barrier,
  no_barrier_in_tree,
  out_of_bounds,
  uninitialized,
  divergent_barrier
};
void tree_sum(cudaStream_t stream, TreeFault fault, const float* x, float* sums, int blocks);
/// Two shared arrays. Fault: an index out of the first one reaches for the second.
void two_arrays(Launch launch, float* y);
/// Row copied through dynamic shared memory. Fault: one element too many.
void dynamic_row(Launch launch, const float* x, float* y, int n);
/// Two block reductions through one buffer. Fault: no barrier before it is used again.
void two_reductions(Launch launch, const float* x, float* y);
/// Threads of both halves pass a barrier. Fault: each half has its own.
void split_barrier(Launch launch, float* y);
/// out = sum. Fault: out += sum, with memory that was not written.
void write_sum(Launch launch, float* out);
/// Column sums. Fault: blocks add to one output without atomics.
void add_columns(Launch launch, float* out, int blocks);
/// Neighbours swap through global memory. Fault: no barrier between write and read.
void swap_through_global(Launch launch, float* scratch, float* y);
/// Warp sums by shuffles.
enum class ShuffleFault { none, exited_lanes, narrow_mask, divergent, absent_source };
void warp_sum(cudaStream_t stream, ShuffleFault fault, const float* x, float* y);
/// A warp turns its values round through shared memory. Fault: no __syncwarp.
void warp_reverse(Launch launch, const float* x, float* y);
/// The last block adds up. Fault: no fence before the atomic, or none after it.
enum class FenceFault { none, no_release, no_acquire };
void last_block_sum(cudaStream_t stream,
                    FenceFault fault,
                    const float* x,
                    float* parts,
                    float* out,
                    unsigned* count);
/// Histogram. Fault: plain increments, in shared or in global memory.
enum class HistogramFault { none, shared, global };
void histogram(cudaStream_t stream, HistogramFault fault, const int* x, unsigned* bins, int n);
/// Fault: reads through the read-only cache what the block has just written.
void read_own_writes(Launch launch, float* x, float* y);
/// x / d. Fault of the caller: d holds a zero.
void divide(cudaStream_t stream, const int* x, const int* d, int* y);
/// Stops if x is negative.
void assert_positive(cudaStream_t stream, const int* x);
/// Follows a chain from its link 0 to a negative one. Fault of the caller: the chain is a ring.
void follow(cudaStream_t stream, const int* next, int* visited);
/// Two blocks. Fault: each waits for the flag of the other, which a plain launch does not support.
void meet(Launch launch, unsigned* flags);
/// Fault: an instruction that is not modelled.
void read_clock(cudaStream_t stream, unsigned* out);
/// Does nothing; launched with any shape. `at_most_64` has launch bounds.
void nothing(cudaStream_t stream, dim3 grid, dim3 block, std::size_t dynamic_shared);
void at_most_64(cudaStream_t stream, int threads);
cudaError_t allow_shared(int bytes);
/// y[i] = a * x[i] + b for one block's n <= 1024.
void affine(cudaStream_t stream, const float* x, float* y, int n, float a, float b);
/// y[i] += x[i] for one block's n <= 1024.
void accumulate(cudaStream_t stream, const float* x, float* y, int n);

}  // namespace fakecuda::selftest
