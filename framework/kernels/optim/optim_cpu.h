#pragma once
#include "framework/core/thread_pool.h"
#include "framework/kernels/optim/optim_args.h"

/// The fast CPU twin: one pass over weights, gradients and state, vectorised and threaded,
/// arithmetic in f32. Null state pointers mean what undefined tensors mean in optim.h.
namespace learn::cpu {

template <class T>
void sgd_step(ThreadPool& threads, const OptimArgs<T>& args, float* buffer, bool nesterov);
template <class T>
void adam_step(ThreadPool& threads, const OptimArgs<T>& args, float* mean, float* square);
template <class T>
void rmsprop_step(
    ThreadPool& threads, const OptimArgs<T>& args, float* square, float* mean, float* buffer);

}  // namespace learn::cpu
