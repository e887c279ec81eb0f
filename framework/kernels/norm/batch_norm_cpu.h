#pragma once
#include "framework/core/thread_pool.h"
#include "framework/kernels/norm/batch_norm_args.h"

#include <cstdint>

/// The fast CPU twin: f32, f16, bf16 (f64 goes to the reference), arithmetic and statistics in f32,
/// combined in f64.
namespace learn::cpu {

/// Floats of scratch memory that each of the functions below needs.
[[nodiscard]] std::int64_t batch_norm_workspace(std::int64_t rows, std::int64_t channels);

template <class T>
void batch_norm_statistics(ThreadPool& threads,
                           const BatchNormStatisticsArgs<T>& args,
                           float* workspace);
template <class T>
void batch_norm_apply(ThreadPool& threads, const BatchNormApplyArgs<T>& args, float* workspace);
template <class T>
void batch_norm_backward(ThreadPool& threads,
                         const BatchNormBackwardArgs<T>& args,
                         float* workspace);

}  // namespace learn::cpu
