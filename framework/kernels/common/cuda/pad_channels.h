#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// Between our rows of any width and rows that start at multiples of 16 bytes. Device pointers;
/// enqueue only.
namespace learn::cuda {

/// padded (rows,width) = x (rows,columns) with zeros after each row. `padded` is 16-byte aligned
/// and so are its rows. f16, bf16.
template <class T>
void pad_channels(Stream stream,
                  const T* x,
                  std::int64_t rows,
                  std::int64_t columns,
                  T* padded,
                  std::int64_t width);
/// x (rows,columns) (+)= the first columns of padded (rows,width). f32, f16, bf16.
template <class T>
void unpad_channels(Stream stream,
                    const T* padded,
                    std::int64_t rows,
                    std::int64_t width,
                    T* x,
                    std::int64_t columns,
                    GradMode mode);

}  // namespace learn::cuda
