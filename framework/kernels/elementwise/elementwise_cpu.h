#pragma once
#include "framework/core/thread_pool.h"
#include "framework/kernels/common/grad_mode.h"

#include <cstdint>

/// The fast CPU twins: f32, f16, bf16, arithmetic in f32.
namespace learn::cpu {

template <class T>
void add(ThreadPool& threads, const T* a, const T* b, T* y, std::int64_t n);

template <class T>
void multiply(ThreadPool& threads, const T* a, const T* b, T* y, GradMode mode, std::int64_t n);

template <class T>
void scale(ThreadPool& threads, const T* x, float factor, T* y, GradMode mode, std::int64_t n);

template <class T>
void add_bias(
    ThreadPool& threads, const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t channels);

template <class T>
void dropout(ThreadPool& threads,
             std::uint64_t seed,
             double p,
             std::uint64_t batch,
             std::uint64_t stream,
             const T* x,
             T* y,
             GradMode mode,
             std::int64_t n);

template <class T>
void copy_into_columns(ThreadPool& threads,
                       const T* x,
                       T* y,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset);

template <class T>
void copy_from_columns(ThreadPool& threads,
                       const T* y,
                       T* x,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset,
                       GradMode mode);

}  // namespace learn::cpu
