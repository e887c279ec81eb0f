#pragma once
#include "framework/backend/cpu/optim_args.h"
#include "framework/core/thread_pool.h"

/// The fast CPU twin: one pass over weights, gradients and state, vectorised and threaded,
/// arithmetic in f32. Null state pointers mean what undefined tensors mean in backend/optim.h.
namespace learn::backend::cpu {

template <class T>
void sgd_step(ThreadPool& threads, const OptimArgs<T>& args, float* buffer, bool nesterov);
template <class T>
void adam_step(ThreadPool& threads, const OptimArgs<T>& args, float* mean, float* square);
template <class T>
void rmsprop_step(
    ThreadPool& threads, const OptimArgs<T>& args, float* square, float* mean, float* buffer);

}  // namespace learn::backend::cpu
