#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/conv_winograd.h"
#include "framework/kernels/conv/cpu/winograd_tiles.h"

#include <algorithm>
#include <vector>

namespace learn::cpu {
namespace {

using simd::kPanel;
using simd::kWinogradInput;
using simd::kWinogradMatrices;
using simd::kWinogradTile;
using simd::WinogradMatrices;

constexpr std::int64_t kTaps = 9;
constexpr std::int64_t kPad = 16;
constexpr std::int64_t kDepth = 256;
// Input channels times output channels of a slice of the result: 1.2 MB, which stays in the
// second-level cache together with a block of operands.
constexpr std::int64_t kSliceResult = 64LL * 128;
// Up to this size, transforming the input once per slice costs less than writing it all to memory.
constexpr std::int64_t kSlicedResult = 128LL * 256;

/// The gradient du (36 matrices of k x c) = sum over tiles of transformed dy (tile, k) *
/// transformed x (tile, c).
struct WeightPass {
  TiledImages x, dy;
  const float* x_data;
  const float* dy_data;
  const float* zeros;             // one pixel
  std::int64_t first_k, count_k;  // the output channels of this slice

  [[nodiscard]] std::int64_t tiles() const { return x.tiles(); }
  [[nodiscard]] std::int64_t panels() const { return ceil_div(x.c, kPanel); }
  /// Returns the floats of one matrix of the result.
  [[nodiscard]] std::int64_t matrix() const { return dy.c * x.c + kPad; }
};

/// Both operands of the products for `tiles` tiles: x in panels, dy in rows.
struct Operands {
  WinogradMatrices x, dy;
  std::int64_t dy_row;
};

std::int64_t operand_floats(const WeightPass& p, std::int64_t tiles) {
  return kWinogradMatrices * (tiles * (p.panels() * kPanel + p.count_k + kPad) + 2 * kPad);
}

Operands make_operands(const WeightPass& p, std::int64_t tiles, float* memory) {
  const std::int64_t x_matrix = tiles * p.panels() * kPanel + kPad;
  const std::int64_t dy_row = p.count_k + kPad;
  return {.x = {memory, x_matrix, tiles * kPanel},
          .dy = {memory + kWinogradMatrices * x_matrix, tiles * dy_row + kPad, kPanel},
          .dy_row = dy_row};
}

/// Transforms a range of tiles into rows, starting at `row`.
void transform_tiles(const ConvResources& on,
                     const WeightPass& p,
                     std::int64_t begin,
                     std::int64_t end,
                     const Operands& to,
                     std::int64_t row) {
  const float* pixels[kWinogradInput * kWinogradInput];
  for (std::int64_t tile = begin; tile < end; ++tile) {
    const std::int64_t at = row + tile - begin;
    p.x.prefetch(p.x_data, tile + 1, kWinogradInput, p.x.c);
    p.dy.prefetch(p.dy_data + p.first_k, tile + 1, kWinogradTile, p.count_k);
    p.x.find_pixels(p.x_data, tile, kWinogradInput, p.zeros, pixels);
    on.kernels.winograd_input(pixels, p.x.c, {to.x.data + at * kPanel, to.x.matrix, to.x.panel});
    p.dy.find_pixels(p.dy_data + p.first_k, tile, kWinogradTile, p.zeros, pixels);
    on.kernels.winograd_output_gradient(
        pixels, p.count_k, {to.dy.data + at * to.dy_row, to.dy.matrix, to.dy.panel});
  }
}

/// Computes one of the 36 products over `tiles` tiles: du (+)= dy^T x.
void multiply(const ConvResources& on,
              const WeightPass& p,
              const Operands& from,
              std::int64_t tiles,
              std::int64_t matrix,
              float* const* rows,
              bool accumulate) {
  for (std::int64_t depth = 0; depth < tiles; depth += kDepth) {
    const simd::Run run{0, 0, std::min(kDepth, tiles - depth)};
    on.kernels.multiply_transposed(
        {.a = from.dy.data + matrix * from.dy.matrix + depth * from.dy_row,
         .a_stride = from.dy_row,
         .b = from.x.data + matrix * from.x.matrix + depth * kPanel,
         .b_stride = from.x.panel,
         .runs = &run,
         .run_count = 1,
         .c = rows,
         .c_offset = matrix * p.matrix(),
         .rows = p.count_k,
         .columns = p.x.c,
         .accumulate = accumulate || depth > 0});
  }
}

std::vector<float*> rows_of(const WeightPass& p, float* du) {
  return row_pointers(du + p.first_k * p.x.c, p.count_k, p.x.c);
}

/// Computes dw (+)= G^T du G.
void transform_result(
    const ConvResources& on, const WeightPass& p, float* du, float* dw, GradMode mode) {
  on.threads.parallel_for(p.dy.c, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      on.kernels.winograd_weight_gradient({du + k * p.x.c, p.matrix(), kPanel},
                                          p.x.c,
                                          dw + k * kTaps * p.x.c,
                                          mode == GradMode::accumulate);
  });
}

/// Returns the first channel of slice `i` of `slices`. The transforms need multiples of 16
/// channels.
std::int64_t channel_border(const WeightPass& p, std::int64_t i, std::int64_t slices) {
  return p.dy.c / 16 * i / slices * 16;
}

/// Returns the part of the pass that computes the output channels [first, first + count).
WeightPass slice_of(const WeightPass& p, std::int64_t first, std::int64_t count) {
  WeightPass slice = p;
  slice.first_k = first;
  slice.count_k = count;
  return slice;
}

/// Computes small results. Each task sums a share of the tiles for a slice of the output channels
/// into a separate result, transforming block by block in its core's cache.
void run_in_chunks(const ConvResources& on, const WeightPass& p, float* dw, GradMode mode) {
  constexpr std::int64_t kBlock = 32;
  constexpr std::int64_t kWantedTasks = 16;
  constexpr std::int64_t kPartialFloats = 2560LL * 1024;  // 10 MB; adding up more takes too long
  const std::int64_t slices = ceil_div(p.dy.c * p.x.c, kSliceResult);
  const std::int64_t n = kWinogradMatrices * p.matrix();
  const std::int64_t chunks =
      std::clamp<std::int64_t>(std::min(kPartialFloats / n, p.tiles() / kBlock),
                               1,
                               std::max<std::int64_t>(1, kWantedTasks / slices));
  const FloatWorkspace partials(on.workspace, chunks * n);
  TaskBuffers buffers(on.workspace, on.threads, operand_floats(p, kBlock));
  on.threads.run(chunks * slices, [&](std::int64_t task) {
    const TaskBuffers::Lease buffer(buffers);
    const std::int64_t chunk = task / slices;
    const std::int64_t first_k = channel_border(p, task % slices, slices);
    const WeightPass slice =
        slice_of(p, first_k, channel_border(p, task % slices + 1, slices) - first_k);
    const Operands operands = make_operands(slice, kBlock, buffer.data());
    const std::vector<float*> rows = rows_of(slice, partials.data() + chunk * n);
    const std::int64_t first = p.tiles() * chunk / chunks;
    const std::int64_t last = p.tiles() * (chunk + 1) / chunks;
    for (std::int64_t begin = first; begin < last; begin += kBlock) {
      const std::int64_t end = std::min(last, begin + kBlock);
      transform_tiles(on, slice, begin, end, operands, 0);
      for (std::int64_t m = 0; m < kWinogradMatrices; ++m)
        multiply(on, slice, operands, end - begin, m, rows.data(), begin > first);
    }
  });
  float* du = partials.data();
  if (chunks > 1)
    on.threads.parallel_for(n, 8192, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = 1; c < chunks; ++c)
        for (std::int64_t i = begin; i < end; ++i) du[i] += du[c * n + i];
    });
  transform_result(on, p, du, dw, mode);
}

/// Computes large results. All tiles are transformed first; then each of the 36 products is one
/// task.
void run_staged(const ConvResources& on, const WeightPass& p, float* dw, GradMode mode) {
  const FloatWorkspace memory(on.workspace, operand_floats(p, p.tiles()));
  const FloatWorkspace du(on.workspace, kWinogradMatrices * p.matrix());
  const Operands operands = make_operands(p, p.tiles(), memory.data());
  on.threads.parallel_for(p.tiles(), 4, [&](std::int64_t begin, std::int64_t end) {
    transform_tiles(on, p, begin, end, operands, begin);
  });
  const std::vector<float*> rows = rows_of(p, du.data());
  on.threads.run(kWinogradMatrices, [&](std::int64_t m) {
    multiply(on, p, operands, p.tiles(), m, rows.data(), false);
  });
  transform_result(on, p, du.data(), dw, mode);
}

}  // namespace

void winograd_backward_weight(const ConvResources& on,
                              const ConvGeometry& g,
                              const float* x,
                              const float* dy,
                              float* dw,
                              GradMode mode) {
  if (g.n == 0) {
    if (mode == GradMode::overwrite) std::fill_n(dw, g.weight_elements(), 0.0F);
    return;
  }
  const FloatWorkspace zeros(on.workspace, std::max(g.c, g.k));
  std::fill_n(zeros.data(), std::max(g.c, g.k), 0.0F);
  const std::int64_t rows = tiles_along(g.p);
  const std::int64_t columns = tiles_along(g.q);
  const WeightPass p{
      .x = {g.n, g.h, g.w, g.c, rows, columns, g.options.pad_top, g.options.pad_left},
      .dy = {g.n, g.p, g.q, g.k, rows, columns, 0, 0},
      .x_data = x,
      .dy_data = dy,
      .zeros = zeros.data(),
      .first_k = 0,
      .count_k = g.k};
  if (g.c * g.k <= kSlicedResult)
    run_in_chunks(on, p, dw, mode);
  else
    run_staged(on, p, dw, mode);
}

}  // namespace learn::cpu
