// Copies between rows of any width and rows that are padded with zeros to multiples of 16 bytes.
// Reads and writes each element once.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/launch.cuh"
#include "framework/kernels/common/cuda/pad_channels.h"

namespace learn::cuda {
namespace {

using device::kElementwiseThreads;
using device::kPack;
using device::thread_index;

/// 16 bytes of a row.
template <class T>
using Row = device::Pack<T, kPack<T>>;

/// Writes padded rows; each thread writes 16 bytes of a row.
template <class T>
__global__ void pad_kernel(
    const T* x, std::int64_t columns, Row<T>* padded, std::int64_t row_packs, std::int64_t packs) {
  const std::int64_t i = thread_index();
  if (i >= packs) return;
  const std::int64_t row = i / row_packs;
  const std::int64_t first = (i - row * row_packs) * kPack<T>;
  Row<T> out;
#pragma unroll
  for (int k = 0; k < kPack<T>; ++k)
    out.v[k] = first + k < columns ? x[row * columns + first + k] : T{};
  padded[i] = out;
}

template <class T, bool accumulate>
__global__ void unpad_kernel(
    const T* padded, std::int64_t width, T* x, std::int64_t columns, std::int64_t n) {
  const std::int64_t i = thread_index();
  if (i >= n) return;
  const std::int64_t row = i / columns;
  const T value = padded[row * width + (i - row * columns)];
  if constexpr (accumulate)
    x[i] = device::store<T>(device::load(x[i]) + device::load(value));
  else
    x[i] = value;
}

}  // namespace

template <class T>
void pad_channels(Stream stream,
                  const T* x,
                  std::int64_t rows,
                  std::int64_t columns,
                  T* padded,
                  std::int64_t width) {
  const std::int64_t row_packs = width / kPack<T>;
  const std::int64_t packs = rows * row_packs;
  launch("pad_channels",
         pad_kernel<T>,
         thread_each(packs, kElementwiseThreads),
         stream,
         x,
         columns,
         reinterpret_cast<Row<T>*>(padded),
         row_packs,
         packs);
}

template <class T>
void unpad_channels(Stream stream,
                    const T* padded,
                    std::int64_t rows,
                    std::int64_t width,
                    T* x,
                    std::int64_t columns,
                    GradMode mode) {
  const std::int64_t n = rows * columns;
  const auto kernel = mode == GradMode::accumulate ? unpad_kernel<T, true> : unpad_kernel<T, false>;
  const Grid grid = thread_each(n, kElementwiseThreads);
  launch("unpad_channels", kernel, grid, stream, padded, width, x, columns, n);
}

template void pad_channels(Stream, const Half*, std::int64_t, std::int64_t, Half*, std::int64_t);
template void pad_channels(
    Stream, const BFloat16*, std::int64_t, std::int64_t, BFloat16*, std::int64_t);
#define LEARN_INSTANTIATE(T)    \
  template void unpad_channels( \
      Stream, const T*, std::int64_t, std::int64_t, T*, std::int64_t, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
