#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/cast.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/conv_grouped.h"
#include "framework/kernels/conv/cpu/grouped_parts.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <concepts>

namespace learn::cpu {
namespace {

constexpr std::int64_t kWantedTasks = 16;
constexpr std::int64_t kMinChunkPixels = 512;
constexpr std::int64_t kPartialFloats = 1024LL * 1024;  // adding up more takes too long
// Pixels that are summed before they are added to the result of a chunk. One vector of each, and of
// the pixels around them, stays in the first-level cache.
constexpr std::int64_t kPixels = 224;

/// The division of the work: chunks of rows, each with a result, and slices of channels.
struct Cut {
  std::int64_t chunks, slices;
};

Cut choose_cut(const ConvGeometry& g, std::int64_t blocks, std::int64_t sums) {
  const std::int64_t most =
      std::min({kWantedTasks, g.n * g.p * g.q / kMinChunkPixels, kPartialFloats / sums, g.n * g.p});
  const std::int64_t chunks = std::max<std::int64_t>(1, most);
  return {chunks, std::clamp<std::int64_t>(kWantedTasks / chunks, 1, blocks)};
}

std::int64_t band_rows(const ConvGeometry& g) {
  return std::max<std::int64_t>(1, kPixels / std::max<std::int64_t>(1, g.q));
}

/// Calls `visit(image, rows)` for the rows [begin, end), counted over all images.
template <class Visit>
void for_bands(const ConvGeometry& g, std::int64_t begin, std::int64_t end, Visit&& visit) {
  while (begin < end) {
    const std::int64_t row = begin % g.p;
    const std::int64_t rows = std::min({band_rows(g), g.p - row, end - begin});
    visit(begin / g.p, RowRange{row, row + rows});
    begin += rows;
  }
}

/// Sets or adds to dw the sum of the chunks' results, in their order.
template <class T>
void unpack(const ConvResources& on,
            const ConvGeometry& g,
            const float* partials,
            std::int64_t chunks,
            T* dw,
            GradMode mode) {
  const std::int64_t lanes = on.kernels.lanes;
  const std::int64_t window = g.r * g.s;
  const std::int64_t width = g.group_c();
  const std::int64_t block_floats = window * width * lanes;
  const std::int64_t sums = ceil_div(g.c, lanes) * block_floats;
  on.threads.parallel_for(g.k, 32, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t block = k / lanes;
      const std::int64_t lane = k - std::min(block * lanes, g.c - lanes);
      for (std::int64_t i = 0; i < window * width; ++i) {
        T& to = dw[k * window * width + i];
        float sum = mode == GradMode::accumulate ? as_float(to) : 0.0F;
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
          sum += partials[chunk * sums + block * block_floats + i * lanes + lane];
        to = from_float<T>(sum);
      }
    }
  });
}

/// Returns `n` elements as f32: themselves, or converted in `buffer`.
template <class T>
const float* as_float_rows(const ConvResources& on, const T* from, std::int64_t n, float* buffer) {
  if constexpr (std::same_as<T, float>) {
    return from;
  } else {
    cast(on.threads, from, buffer, GradMode::overwrite, n);
    return buffer;
  }
}

}  // namespace

template <class T>
void grouped_backward_weight(
    const ConvResources& on, const ConvGeometry& g, const T* x, const T* dy, T* dw, GradMode mode) {
  const Conv2dOptions& o = g.options;
  const GroupedImages images{g.h, g.w, g.p, g.q, g.r, g.s, g.c, g.group_c()};
  const std::vector<GroupedPart> parts =
      grouped_parts(images,
                    forward_classes(g.p, g.h, g.r, o.stride_h, o.pad_top),
                    forward_classes(g.q, g.w, g.s, o.stride_w, o.pad_left));
  const std::int64_t blocks = ceil_div(g.c, on.kernels.lanes);
  const std::int64_t block_floats = g.r * g.s * g.group_c() * on.kernels.lanes;
  const std::int64_t sums = blocks * block_floats;
  constexpr bool kFloat = std::same_as<T, float>;
  const auto [chunks, slices] = choose_cut(g, kFloat ? blocks : 1, sums);
  const FloatWorkspace partials(on.workspace, chunks * sums);
  // A band's rows of x and dy as f32.
  const std::int64_t x_rows = std::min(g.h, (band_rows(g) - 1) * o.stride_h + g.r);
  const std::int64_t x_floats = x_rows * images.from_row();
  TaskBuffers buffers(
      on.workspace, on.threads, kFloat ? 0 : x_floats + band_rows(g) * images.to_row());
  on.threads.run(chunks * slices, [&, chunks = chunks, slices = slices](std::int64_t task) {
    const std::int64_t chunk = task / slices;
    const std::int64_t first_block = blocks * (task % slices) / slices;
    const std::int64_t last_block = blocks * (task % slices + 1) / slices;
    const TaskBuffers::Lease lease(buffers);
    float* const result = partials.data() + chunk * sums;
    std::fill(result + first_block * block_floats, result + last_block * block_floats, 0.0F);
    for_bands(
        g,
        g.n * g.p * chunk / chunks,
        g.n * g.p * (chunk + 1) / chunks,
        [&](std::int64_t image, RowRange rows) {
          const RowRange read = source_rows(parts, rows);
          const std::int64_t from_shift = read.begin * images.from_row();
          const std::int64_t to_shift = rows.begin * images.to_row();
          const float* from = as_float_rows(on,
                                            x + image * images.from_image() + from_shift,
                                            read.count() * images.from_row(),
                                            lease.data());
          const float* to = as_float_rows(on,
                                          dy + image * images.to_image() + to_shift,
                                          rows.count() * images.to_row(),
                                          lease.data() + x_floats);
          for (const GroupedPart& part : parts)
            part.visit(
                images,
                rows,
                [&](simd::GroupedGrid grid, std::int64_t from_offset, std::int64_t to_offset) {
                  if (grid.tap_count == 0) return;
                  grid.first_block = first_block;
                  grid.last_block = last_block;
                  grid.streamed = kFloat && is_streamed(g.n, images);
                  on.kernels.multiply_groups_transposed(
                      grid, from + from_offset - from_shift, to + to_offset - to_shift, result);
                });
        });
  });
  unpack(on, g, partials.data(), chunks, dw, mode);
}

#define LEARN_INSTANTIATE(T)             \
  template void grouped_backward_weight( \
      const ConvResources&, const ConvGeometry&, const T*, const T*, T*, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
