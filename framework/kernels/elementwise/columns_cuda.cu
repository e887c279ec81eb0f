// Copies columns into and out of a wider matrix (concatenation). Reads and writes each element
// once, 16 bytes per thread where aligned.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/device/warp.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"
#include "framework/kernels/elementwise/elementwise_kernels.h"

namespace learn::cuda {
namespace {

using device::Columns;
using device::ColumnThread;

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
        const Columns c = tiling_for_writing(rows, columns, count);
        const auto kernel = mode == GradMode::accumulate ? copy_columns_kernel<count, true, T>
                                                         : copy_columns_kernel<count, false, T>;
        launch("copy_columns", kernel, grid_of(c), stream, c, from, from_width, to, to_width);
      },
      from,
      to);
}

}  // namespace

template <class T>
void copy_into_columns(const Exec& exec, const T* x, T* y, const kernels::Columns& part) {
  copy_columns(exec,
               part.outer,
               part.inner,
               x,
               part.inner,
               y + part.offset,
               part.width,
               GradMode::overwrite);
}

template <class T>
void copy_from_columns(
    const Exec& exec, const T* y, T* x, const kernels::Columns& part, GradMode mode) {
  copy_columns(exec, part.outer, part.inner, y + part.offset, part.width, x, part.inner, mode);
}

#define LEARN_INSTANTIATE(T)                                                           \
  template void copy_into_columns(const Exec&, const T*, T*, const kernels::Columns&); \
  template void copy_from_columns(const Exec&, const T*, T*, const kernels::Columns&, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
