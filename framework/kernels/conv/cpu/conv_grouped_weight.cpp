#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/conv_grouped.h"
#include "framework/kernels/conv/cpu/grouped_parts.h"

#include <algorithm>

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

/// Calls `visit(image, first row, last row)` for the rows [begin, end), counted over all images.
template <class Visit>
void for_bands(const ConvGeometry& g, std::int64_t begin, std::int64_t end, Visit&& visit) {
  const std::int64_t band = std::max<std::int64_t>(1, kPixels / std::max<std::int64_t>(1, g.q));
  while (begin < end) {
    const std::int64_t row = begin % g.p;
    const std::int64_t rows = std::min({band, g.p - row, end - begin});
    visit(begin / g.p, row, row + rows);
    begin += rows;
  }
}

/// Sets or adds to dw the sum of the chunks' results, in their order.
void unpack(const ConvResources& on,
            const ConvGeometry& g,
            const float* partials,
            std::int64_t chunks,
            float* dw,
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
        float& to = dw[k * window * width + i];
        float sum = mode == GradMode::accumulate ? to : 0.0F;
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
          sum += partials[chunk * sums + block * block_floats + i * lanes + lane];
        to = sum;
      }
    }
  });
}

}  // namespace

void grouped_backward_weight(const ConvResources& on,
                             const ConvGeometry& g,
                             const float* x,
                             const float* dy,
                             float* dw,
                             GradMode mode) {
  const Conv2dOptions& o = g.options;
  const GroupedImages images{g.h, g.w, g.p, g.q, g.r, g.s, g.c, g.group_c()};
  const std::vector<GroupedPart> parts =
      grouped_parts(images,
                    forward_classes(g.p, g.h, g.r, o.stride_h, o.pad_top),
                    forward_classes(g.q, g.w, g.s, o.stride_w, o.pad_left));
  const std::int64_t blocks = ceil_div(g.c, on.kernels.lanes);
  const std::int64_t block_floats = g.r * g.s * g.group_c() * on.kernels.lanes;
  const std::int64_t sums = blocks * block_floats;
  const auto [chunks, slices] = choose_cut(g, blocks, sums);
  const FloatWorkspace partials(on.workspace, chunks * sums);
  on.threads.run(chunks * slices, [&, chunks = chunks, slices = slices](std::int64_t task) {
    const std::int64_t chunk = task / slices;
    const std::int64_t first_block = blocks * (task % slices) / slices;
    const std::int64_t last_block = blocks * (task % slices + 1) / slices;
    float* const result = partials.data() + chunk * sums;
    std::fill(result + first_block * block_floats, result + last_block * block_floats, 0.0F);
    for_bands(g,
              g.n * g.p * chunk / chunks,
              g.n * g.p * (chunk + 1) / chunks,
              [&](std::int64_t image, std::int64_t begin, std::int64_t end) {
                for (const GroupedPart& part : parts)
                  part.visit(images,
                             begin,
                             end,
                             [&](simd::GroupedGrid grid, std::int64_t from, std::int64_t to) {
                               grid.first_block = first_block;
                               grid.last_block = last_block;
                               on.kernels.multiply_groups_transposed(
                                   grid,
                                   x + image * g.h * g.w * g.c + from,
                                   dy + image * g.p * g.q * g.k + to,
                                   result);
                             });
              });
  });
  unpack(on, g, partials.data(), chunks, dw, mode);
}

}  // namespace learn::cpu
