#include "framework/kernels/conv/cpu/conv_winograd.h"

#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/packed_weights.h"
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

constexpr std::int64_t kPixels = kWinogradInput * kWinogradInput;
constexpr std::int64_t kTaps = 9;
constexpr std::int64_t kDepth = 256;   // of a product at once; a panel fills half of 64 kB
constexpr std::int64_t kTileRows = 6;  // of the widest matrix kernel
/// Keeps rows, and the 36 matrices, from starting at the same line of the first-level cache.
constexpr std::int64_t kPad = 16;

/// A forward pass or a gradient of the input, which is a forward pass with the window rotated by
/// 180 degrees and the channels exchanged.
struct Pass {
  TiledImages from, to;
  const float* in;
  float* out;
  bool accumulate;
  const ConvEpilogue* epilogue = nullptr;

  [[nodiscard]] std::int64_t panels() const { return ceil_div(to.c, kPanel); }
};

/// The transformed input of `tiles` tiles, in rows of from.c channels, and the products.
struct Blocks {
  WinogradMatrices v, m;
  std::int64_t v_row, m_row;  // floats
};

constexpr std::int64_t row_floats(std::int64_t channels) { return channels + kPad; }
constexpr std::int64_t matrix_floats(std::int64_t tiles, std::int64_t channels) {
  return tiles * row_floats(channels) + kPad;
}

Blocks make_blocks(const Pass& p, std::int64_t tiles, float* memory) {
  const std::int64_t v = matrix_floats(tiles, p.from.c);
  return {.v = {memory, v, kPanel},
          .m = {memory + kWinogradMatrices * v, matrix_floats(tiles, p.to.c), kPanel},
          .v_row = row_floats(p.from.c),
          .m_row = row_floats(p.to.c)};
}

std::int64_t block_floats(const Pass& p, std::int64_t tiles) {
  return kWinogradMatrices * (matrix_floats(tiles, p.from.c) + matrix_floats(tiles, p.to.c));
}

/// The location of the transformed weights. Panel j of matrix m is at data + m * matrix + j *
/// panel, and its rows are the summed channels.
struct WeightMatrices {
  const float* data;
  std::int64_t matrix, panel;
};

std::int64_t weight_matrix_floats(const Pass& p) { return p.from.c * p.panels() * kPanel + kPad; }

/// Transforms weights into `to`. Calls `gather(panel, first row, rows, taps)` to collect rows of 32
/// columns of all nine taps, tap t at taps + t * rows * 32. If `turned`, the window is rotated by
/// 180 degrees.
template <class Gather>
void transform_weights(
    const ConvResources& on, const Pass& p, float* to, bool turned, Gather&& gather) {
  const std::int64_t panel_floats = p.from.c * kPanel;
  constexpr std::int64_t kRows = 64;  // 74 kB of taps
  const std::int64_t pieces = ceil_div(p.from.c, kRows);
  TaskBuffers buffers(on.workspace, on.threads, kTaps * kRows * kPanel);
  on.threads.run(p.panels() * pieces, [&](std::int64_t task) {
    const TaskBuffers::Lease buffer(buffers);
    const std::int64_t panel = task / pieces;
    const std::int64_t first = task % pieces * kRows;
    const std::int64_t rows = std::min(kRows, p.from.c - first);
    gather(panel, first, rows, buffer.data());
    const std::int64_t stride = rows * kPanel;
    on.kernels.winograd_weight(
        buffer.data() + (turned ? (kTaps - 1) * stride : 0),
        turned ? -stride : stride,
        rows,
        {to + panel * panel_floats + first * kPanel, weight_matrix_floats(p), 0});
  });
}

void transform_input(const ConvResources& on,
                     const Pass& p,
                     std::int64_t begin,
                     std::int64_t end,
                     const float* zeros,
                     const Blocks& to,
                     std::int64_t row) {
  const float* pixels[kPixels];
  for (std::int64_t tile = begin; tile < end; ++tile) {
    p.from.prefetch(p.in, tile + 1, kWinogradInput, p.from.c);
    p.from.find_pixels(p.in, tile, kWinogradInput, zeros, pixels);
    on.kernels.winograd_input(
        pixels, p.from.c, {to.v.data + (row + tile - begin) * to.v_row, to.v.matrix, to.v.panel});
  }
}

void transform_output(const ConvResources& on,
                      const Pass& p,
                      std::int64_t begin,
                      std::int64_t end,
                      const Blocks& from,
                      std::int64_t row) {
  float* pixels[kWinogradTile * kWinogradTile];
  for (std::int64_t tile = begin; tile < end; ++tile) {
    p.to.find_pixels<float>(p.out, tile, kWinogradTile, nullptr, pixels);
    on.kernels.winograd_output(
        {from.m.data + (row + tile - begin) * from.m_row, from.m.matrix, from.m.panel},
        p.to.c,
        pixels,
        p.accumulate);
    if (p.epilogue != nullptr)
      p.epilogue->apply(pixels, kWinogradTile * kWinogradTile, 0, 0, p.to.c);
  }
}

/// Multiplies rows [first, first + count) of one of the 36 products, panels [first_panel,
/// last_panel).
void multiply(const ConvResources& on,
              const Pass& p,
              const Blocks& blocks,
              const WeightMatrices& u,
              std::int64_t matrix,
              std::int64_t first,
              std::int64_t count,
              std::int64_t first_panel,
              std::int64_t last_panel) {
  constexpr std::int64_t kMaxRows = 40 * kTileRows;
  float* rows[kMaxRows];
  for (std::int64_t done = 0; done < count; done += kMaxRows) {
    const std::int64_t n = std::min(kMaxRows, count - done);
    for (std::int64_t i = 0; i < n; ++i)
      rows[i] = blocks.m.data + matrix * blocks.m.matrix + (first + done + i) * blocks.m_row;
    for (std::int64_t depth = 0; depth < p.from.c; depth += kDepth) {
      const simd::Run run{0, 0, std::min(kDepth, p.from.c - depth)};
      on.kernels.multiply(
          {.a = blocks.v.data + matrix * blocks.v.matrix + (first + done) * blocks.v_row + depth,
           .a_stride = blocks.v_row,
           .b = u.data + matrix * u.matrix + first_panel * u.panel + depth * kPanel,
           .b_stride = u.panel,
           .runs = &run,
           .run_count = 1,
           .c = rows,
           .c_offset = first_panel * kPanel,
           .rows = n,
           .columns = std::min(p.to.c, last_panel * kPanel) - first_panel * kPanel,
           .accumulate = depth > 0});
    }
  }
}

/// Runs tasks that each take a block of tiles through all three stages while it stays in the core's
/// cache.
void run_fused(const ConvResources& on,
               const Pass& p,
               const WeightMatrices& u,
               const float* zeros,
               std::int64_t block) {
  const std::int64_t blocks = ceil_div(p.from.tiles(), block);
  TaskBuffers buffers(on.workspace, on.threads, block_floats(p, block));
  on.threads.run(blocks, [&](std::int64_t task) {
    const TaskBuffers::Lease buffer(buffers);
    const Blocks b = make_blocks(p, block, buffer.data());
    const std::int64_t begin = p.from.tiles() * task / blocks;
    const std::int64_t end = p.from.tiles() * (task + 1) / blocks;
    transform_input(on, p, begin, end, zeros, b, 0);
    for (std::int64_t m = 0; m < kWinogradMatrices; ++m)
      multiply(on, p, b, u, m, 0, end - begin, 0, p.panels());
    transform_output(on, p, begin, end, b, 0);
  });
}

/// Runs one stage after the other over all tiles, for weights that are too large to pass through
/// the cache once per block of tiles.
void run_staged(const ConvResources& on,
                const Pass& p,
                const WeightMatrices& u,
                const float* zeros) {
  const std::int64_t tiles = p.from.tiles();
  const FloatWorkspace memory(on.workspace, block_floats(p, tiles));
  const Blocks b = make_blocks(p, tiles, memory.data());
  on.threads.parallel_for(tiles, 4, [&](std::int64_t begin, std::int64_t end) {
    transform_input(on, p, begin, end, zeros, b, begin);
  });
  on.threads.run(kWinogradMatrices,
                 [&](std::int64_t m) { multiply(on, p, b, u, m, 0, tiles, 0, p.panels()); });
  on.threads.parallel_for(tiles, 4, [&](std::int64_t begin, std::int64_t end) {
    transform_output(on, p, begin, end, b, begin);
  });
}

void run_pass(const ConvResources& on, const Pass& p, const WeightMatrices& u) {
  // Transformed weights of half a megabyte (64 x 64 channels) stay in the second-level cache
  // together with a block. Up to two megabytes still arrive fast enough from the third level.
  constexpr std::int64_t kFusedWeights = 128LL * 128;
  constexpr std::int64_t kBlockFloats = 256LL * 1024;
  const FloatWorkspace zeros(on.workspace, p.from.c);
  std::fill_n(zeros.data(), p.from.c, 0.0F);
  if (p.from.c * p.to.c > kFusedWeights) return run_staged(on, p, u, zeros.data());
  const std::int64_t fits = kBlockFloats / (kWinogradMatrices * (p.from.c + p.to.c));
  run_fused(on,
            p,
            u,
            zeros.data(),
            std::clamp(fits / kTileRows, std::int64_t{2}, std::int64_t{9}) * kTileRows);
}

}  // namespace

bool winograd_applies(const ConvGeometry& g) {
  const Conv2dOptions& o = g.options;
  return g.r == 3 && g.s == 3 && o.stride_h == 1 && o.stride_w == 1 && o.groups == 1 &&
         g.c % 16 == 0 && g.k % 16 == 0;
}

void winograd_forward(const ConvResources& on,
                      const ConvGeometry& g,
                      const float* x,
                      const float* weight,
                      const float* bias,
                      float* y,
                      const ConvEpilogue* epilogue) {
  const std::int64_t rows = tiles_along(g.p);
  const std::int64_t columns = tiles_along(g.q);
  const Pass p{.from = {g.n, g.h, g.w, g.c, rows, columns, g.options.pad_top, g.options.pad_left},
               .to = {g.n, g.p, g.q, g.k, rows, columns, 0, 0},
               .in = x,
               .out = y,
               .accumulate = bias != nullptr,
               .epilogue = epilogue};
  if (bias != nullptr)
    on.threads.parallel_for(g.n * g.p * g.q, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) std::copy_n(bias, g.k, y + i * g.k);
    });
  const PackedWeights u(
      on,
      weight,
      PackedWeights::kWinogradForm,
      kWinogradMatrices * weight_matrix_floats(p),
      [&](float* to) {
        transform_weights(
            on,
            p,
            to,
            false,
            [&](std::int64_t panel, std::int64_t first, std::int64_t rows_here, float* taps) {
              const std::int64_t width = std::min(kPanel, g.k - panel * kPanel);
              for (std::int64_t t = 0; t < kTaps; ++t)
                on.kernels.transpose(weight + (panel * kPanel * kTaps + t) * g.c + first,
                                     kTaps * g.c,
                                     width,
                                     rows_here,
                                     taps + t * rows_here * kPanel,
                                     kPanel);
            });
      });
  run_pass(on, p, {u.data(), weight_matrix_floats(p), p.from.c * kPanel});
}

void winograd_backward_data(const ConvResources& on,
                            const ConvGeometry& g,
                            const float* dy,
                            const float* weight,
                            float* dx,
                            GradMode mode) {
  const std::int64_t rows = tiles_along(g.h);
  const std::int64_t columns = tiles_along(g.w);
  const Pass p{
      .from = {g.n, g.p, g.q, g.k, rows, columns, 2 - g.options.pad_top, 2 - g.options.pad_left},
      .to = {g.n, g.h, g.w, g.c, rows, columns, 0, 0},
      .in = dy,
      .out = dx,
      .accumulate = mode == GradMode::accumulate};
  const FloatWorkspace u(on.workspace, kWinogradMatrices * weight_matrix_floats(p));
  transform_weights(
      on,
      p,
      u.data(),
      true,
      [&](std::int64_t panel, std::int64_t first, std::int64_t rows_here, float* taps) {
        const std::int64_t width = std::min(kPanel, g.c - panel * kPanel);
        for (std::int64_t t = 0; t < kTaps; ++t)
          for (std::int64_t i = 0; i < rows_here; ++i)
            std::copy_n(weight + ((first + i) * kTaps + t) * g.c + panel * kPanel,
                        width,
                        taps + (t * rows_here + i) * kPanel);
      });
  run_pass(on, p, {u.data(), weight_matrix_floats(p), p.from.c * kPanel});
}

}  // namespace learn::cpu
