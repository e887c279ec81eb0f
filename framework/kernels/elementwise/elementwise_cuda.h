#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// The CUDA twins: f32, f16, bf16, arithmetic in f32. Device pointers; enqueue only.
namespace learn::cuda {

template <class T>
void add(Stream stream, const T* a, const T* b, T* y, std::int64_t n);
template <class T>
void multiply(Stream stream, const T* a, const T* b, T* y, GradMode mode, std::int64_t n);
template <class T>
void scale(Stream stream, const T* x, float factor, T* y, GradMode mode, std::int64_t n);
/// `batch`: one number in device memory.
template <class T>
void dropout(Stream stream,
             std::uint64_t seed,
             double p,
             const std::int64_t* batch,
             std::uint64_t random_stream,
             const T* x,
             T* y,
             GradMode mode,
             std::int64_t n);

template <class T>
void copy_into_columns(Stream stream,
                       const T* x,
                       T* y,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset);
template <class T>
void copy_from_columns(Stream stream,
                       const T* y,
                       T* x,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset,
                       GradMode mode);

}  // namespace learn::cuda
