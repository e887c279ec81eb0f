#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// Copies between rows of any width and rows that start at multiples of 16 bytes. Device pointers;
/// enqueue only.
namespace learn::cuda {

/// Computes padded (rows,width) = x (rows,columns) with each row extended by zeros. `padded` and
/// its rows are 16-byte aligned. f16, bf16.
template <class T>
void pad_channels(Stream stream,
                  const T* x,
                  std::int64_t rows,
                  std::int64_t columns,
                  T* padded,
                  std::int64_t width);
/// Computes x (rows,columns) (+)= the first columns of padded (rows,width). f32, f16, bf16.
template <class T>
void unpad_channels(Stream stream,
                    const T* padded,
                    std::int64_t rows,
                    std::int64_t width,
                    T* x,
                    std::int64_t columns,
                    GradMode mode);

}  // namespace learn::cuda
