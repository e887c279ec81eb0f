#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/device/warp.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"
#include "framework/kernels/elementwise/elementwise_cuda.h"

namespace learn::cuda {
namespace {

using device::Columns;
using device::ColumnThread;
using device::kColumnThreads;

template <int count, bool accumulate, class T>
__global__ void copy_columns_kernel(
    Columns c, const T* from, std::int64_t from_width, T* to, std::int64_t to_width) {
  const ColumnThread me(c);
  for (std::int64_t row = me.begin; row < me.end; row += me.step) {
    auto pack = device::load_pack<count>(from + row * from_width, me.pack);
    if constexpr (accumulate) {
      const auto before = device::load_pack<count>(to + row * to_width, me.pack);
#pragma unroll
      for (int k = 0; k < count; ++k)
        pack.v[k] = device::store<T>(device::load(before.v[k]) + device::load(pack.v[k]));
    }
    device::store_pack(to + row * to_width, me.pack, pack);
  }
}

template <class T>
void copy_columns(Stream stream,
                  std::int64_t rows,
                  std::int64_t columns,
                  const T* from,
                  std::int64_t from_width,
                  T* to,
                  std::int64_t to_width,
                  GradMode mode) {
  if (rows == 0 || columns == 0) return;
  with_pack<device::kPack<T>>(
      {columns, from_width, to_width},
      [&]<int count>() {
        const Columns c = cut_for_writing(rows, columns, count);
        const auto kernel = mode == GradMode::accumulate ? copy_columns_kernel<count, true, T>
                                                         : copy_columns_kernel<count, false, T>;
        launch("copy_columns",
               kernel,
               c.blocks(),
               kColumnThreads,
               stream,
               c,
               from,
               from_width,
               to,
               to_width);
      },
      from,
      to);
}

}  // namespace

template <class T>
void copy_into_columns(Stream stream,
                       const T* x,
                       T* y,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset) {
  copy_columns(stream, outer, inner, x, inner, y + offset, width, GradMode::overwrite);
}

template <class T>
void copy_from_columns(Stream stream,
                       const T* y,
                       T* x,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset,
                       GradMode mode) {
  copy_columns(stream, outer, inner, y + offset, width, x, inner, mode);
}

#define LEARN_INSTANTIATE(T)                                                         \
  template void copy_into_columns(                                                   \
      Stream, const T*, T*, std::int64_t, std::int64_t, std::int64_t, std::int64_t); \
  template void copy_from_columns(                                                   \
      Stream, const T*, T*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, GradMode);
LEARN_INSTANTIATE(float)
LEARN_INSTANTIATE(Half)
LEARN_INSTANTIATE(BFloat16)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
