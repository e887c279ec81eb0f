#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/conv_winograd.h"
#include "framework/kernels/conv/cpu/winograd_tiles.h"

#include <algorithm>
#include <vector>

namespace learn::cpu {
namespace {

using simd::kPanel;
using simd::WinogradMatrices;

constexpr std::int64_t kPad = 16;
constexpr std::int64_t kDepth = 256;
// Input channels times output channels of a slice of the result: 1.2 MB, which stays in the
// second-level cache together with a block of operands.
constexpr std::int64_t kSliceResult = 64LL * 128;
// Up to this many floats of matrices, transforming the input once per slice costs less than writing
// it all to memory.
constexpr std::int64_t kSlicedMatrices = 36LL * 128 * 256;

/// The gradient du (matrices of k x c) = sum over tiles of transformed dy (tile, k) *
/// transformed x (tile, c).
struct WeightPass {
  const simd::Winograd& variant;
  TiledImages x, dy;
  const float* x_data;
  const float* dy_data;
  const float* zeros;             // one pixel
  std::int64_t first_k, count_k;  // the output channels of this slice

  [[nodiscard]] std::int64_t tiles() const { return x.tiles(); }
  /// Returns the floats of one matrix of the result.
  [[nodiscard]] std::int64_t matrix() const { return dy.c * x.c + kPad; }
};

/// Both operands of the products, in rows.
struct Operands {
  WinogradMatrices x, dy;
  std::int64_t x_row, dy_row;
};

std::int64_t operand_floats(const WeightPass& p, std::int64_t tiles) {
  return product_matrices(p.variant) * (tiles * (p.x.c + p.count_k + 2 * kPad) + 2 * kPad) + kPanel;
}

Operands make_operands(const WeightPass& p, std::int64_t tiles, float* memory) {
  const std::int64_t x_row = p.x.c + kPad;
  const std::int64_t dy_row = p.count_k + kPad;
  const std::int64_t dy_matrix = tiles * dy_row + kPad;
  // The columns of x's last panel may end after its last row.
  return {.x = {memory + product_matrices(p.variant) * dy_matrix, tiles * x_row + kPad},
          .dy = {memory, dy_matrix},
          .x_row = x_row,
          .dy_row = dy_row};
}

/// Transforms a range of tiles into rows, starting at `row`.
void transform_tiles(const WeightPass& p,
                     std::int64_t begin,
                     std::int64_t end,
                     const Operands& to,
                     std::int64_t row) {
  const float* pixels[TiledImages::kMaxPixels];
  for (std::int64_t tile = begin; tile < end; ++tile) {
    const std::int64_t at = row + tile - begin;
    p.x.prefetch(p.x_data, tile + 1, p.x.c);
    p.dy.prefetch(p.dy_data + p.first_k, tile + 1, p.count_k);
    p.x.find_pixels(p.x_data, tile, p.zeros, pixels);
    p.variant.forward.input(pixels, p.x.c, {to.x.data + at * to.x_row, to.x.matrix});
    p.dy.find_pixels(p.dy_data + p.first_k, tile, p.zeros, pixels);
    p.variant.output_gradient(pixels, p.count_k, {to.dy.data + at * to.dy_row, to.dy.matrix});
  }
}

/// Computes one of the products over `tiles` tiles: du (+)= dy^T x.
void multiply(const ConvResources& on,
              const WeightPass& p,
              const Operands& from,
              std::int64_t tiles,
              std::int64_t matrix,
              std::int64_t result,
              float* const* rows,
              bool accumulate) {
  for (std::int64_t depth = 0; depth < tiles; depth += kDepth) {
    const simd::Run run{0, 0, std::min(kDepth, tiles - depth)};
    on.kernels.multiply_transposed(
        {.a = from.dy.data + matrix * from.dy.matrix + depth * from.dy_row,
         .a_stride = from.dy_row,
         .b = from.x.data + matrix * from.x.matrix + depth * from.x_row,
         .b_row = from.x_row,
         .b_stride = kPanel,
         .runs = &run,
         .run_count = 1,
         .c = rows,
         .c_offset = result * p.matrix(),
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
  const std::int64_t taps = p.variant.window * p.variant.window;
  on.threads.parallel_for(p.dy.c, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      p.variant.weight_gradient(
          {du + k * p.x.c, p.matrix()}, p.x.c, dw + k * taps * p.x.c, mode == GradMode::accumulate);
  });
}

/// Returns the first channel of slice `i` of `slices`. The transforms need at least 16 channels.
std::int64_t channel_border(const WeightPass& p, std::int64_t i, std::int64_t slices) {
  return i == slices ? p.dy.c : p.dy.c / 16 * i / slices * 16;
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
  constexpr std::int64_t kMaxTasks = 64;
  constexpr std::int64_t kPartialFloats = 2560LL * 1024;  // 10 MB; adding up more takes too long
  constexpr std::int64_t kManyTiles = 256;  // adding up their chunk takes a twentieth of its time
  const std::int64_t slices = ceil_div(p.dy.c * p.x.c, kSliceResult);
  const std::int64_t n = weight_matrices(p.variant) * p.matrix();
  const std::int64_t wanted =
      std::max(std::min(kPartialFloats / n, kWantedTasks / slices), p.tiles() / kManyTiles);
  const std::int64_t chunks = std::clamp<std::int64_t>(
      wanted, 1, std::max<std::int64_t>(1, std::min(p.tiles() / kBlock, kMaxTasks / slices)));
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
      transform_tiles(slice, begin, end, operands, 0);
      std::int64_t before = -1;
      for_products(p.variant, [&](std::int64_t m, std::int64_t result) {
        multiply(on,
                 slice,
                 operands,
                 end - begin,
                 m,
                 result,
                 rows.data(),
                 begin > first || result == before);
        before = result;
      });
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

/// Computes large results. All tiles are transformed first; then each task computes some output
/// channels of a product.
void run_staged(const ConvResources& on, const WeightPass& p, float* dw, GradMode mode) {
  const FloatWorkspace memory(on.workspace, operand_floats(p, p.tiles()));
  const FloatWorkspace du(on.workspace, weight_matrices(p.variant) * p.matrix());
  const Operands operands = make_operands(p, p.tiles(), memory.data());
  on.threads.parallel_for(p.tiles(), 4, [&](std::int64_t begin, std::int64_t end) {
    transform_tiles(p, begin, end, operands, begin);
  });
  const std::vector<float*> rows = rows_of(p, du.data());
  std::vector<std::vector<std::int64_t>> products(
      static_cast<std::size_t>(weight_matrices(p.variant)));
  for_products(p.variant, [&](std::int64_t m, std::int64_t result) {
    products[static_cast<std::size_t>(result)].push_back(m);
  });
  const std::int64_t slices = std::clamp<std::int64_t>(
      kStagedTasks / weight_matrices(p.variant), 1, std::max<std::int64_t>(1, p.dy.c / 64));
  on.threads.run(weight_matrices(p.variant) * slices, [&](std::int64_t task) {
    const std::int64_t result =
        weight_matrices(p.variant) - 1 - task / slices;  // the last ones have the most products
    const std::int64_t first_k = channel_border(p, task % slices, slices);
    const WeightPass slice =
        slice_of(p, first_k, channel_border(p, task % slices + 1, slices) - first_k);
    bool accumulate = false;
    for (const std::int64_t m : products[static_cast<std::size_t>(result)]) {
      Operands from = operands;
      from.dy.data += first_k;
      multiply(on, slice, from, p.tiles(), m, result, rows.data() + first_k, accumulate);
      accumulate = true;
    }
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
  const FloatWorkspace zeros(on.workspace, std::max(g.group_c(), g.group_k()));
  std::fill_n(zeros.data(), std::max(g.group_c(), g.group_k()), 0.0F);
  const simd::Winograd& variant = *winograd_variant(on.kernels, g);
  const WinogradTiles tiles = forward_tiles(variant, g);
  for (std::int64_t group = 0; group < g.options.groups; ++group) {
    const WeightPass p{.variant = variant,
                       .x = tiles.from,
                       .dy = tiles.to,
                       .x_data = x + group * g.group_c(),
                       .dy_data = dy + group * g.group_k(),
                       .zeros = zeros.data(),
                       .first_k = 0,
                       .count_k = g.group_k()};
    float* const to = dw + group * group_weights(g);
    if (product_matrices(p.variant) * g.group_c() * g.group_k() <= kSlicedMatrices)
      run_in_chunks(on, p, to, mode);
    else
      run_staged(on, p, to, mode);
  }
}

}  // namespace learn::cpu
