#include "framework/kernels/conv/cpu/conv_winograd.h"

#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/packed_weights.h"
#include "framework/kernels/conv/cpu/winograd_tiles.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace learn::cpu {
namespace {

using simd::kPanel;
using simd::Winograd;
using simd::WinogradMatrices;

constexpr std::int64_t kDepth = 256;  // of a product at once; a panel fills half of 64 kB
/// Keeps rows, and the matrices, from starting at the same line of the first-level cache.
constexpr std::int64_t kPad = 16;

/// A forward pass or a gradient of the input, which is a forward pass with the window rotated by
/// 180 degrees and the channels exchanged.
struct Pass {
  const Winograd& variant;
  const simd::WinogradPass& pass;
  TiledImages from, to;
  const float* in;
  float* out;
  bool accumulate;
  const ConvEpilogue* epilogue = nullptr;
  std::int64_t first_channel = 0;  // of the group in `to`

  [[nodiscard]] std::int64_t panels() const { return ceil_div(to.c, kPanel); }
};

/// The transformed input of tiles, in rows of from.c channels, and their products in rows of some
/// of the results' channels.
struct Blocks {
  WinogradMatrices v, m;
  std::int64_t v_row, m_row;  // floats
};

constexpr std::int64_t row_floats(std::int64_t channels) { return channels + kPad; }
constexpr std::int64_t matrix_floats(std::int64_t tiles, std::int64_t channels) {
  return tiles * row_floats(channels) + kPad;
}

Blocks make_blocks(const Pass& p, std::int64_t tiles, std::int64_t width, float* memory) {
  const std::int64_t v = matrix_floats(tiles, p.from.c);
  return {.v = {memory, v},
          .m = {memory + product_matrices(p.variant) * v, matrix_floats(tiles, width)},
          .v_row = row_floats(p.from.c),
          .m_row = row_floats(width)};
}

std::int64_t block_floats(const Pass& p, std::int64_t tiles, std::int64_t width) {
  return product_matrices(p.variant) *
         (matrix_floats(tiles, p.from.c) + matrix_floats(tiles, width));
}

/// The location of the transformed weights. Panel j of matrix m is at data + m * matrix + j *
/// panel, and its rows are the summed channels.
struct WeightMatrices {
  const float* data;
  std::int64_t matrix, panel;
};

std::int64_t weight_matrix_floats(const Pass& p) { return p.from.c * p.panels() * kPanel + kPad; }

/// Transforms weights into `to`. Calls `gather(panel, first row, rows, taps)` to collect rows of 32
/// columns of all taps, tap t at taps + t * rows * 32. If `turned`, the window is rotated by
/// 180 degrees.
template <class Gather>
void transform_weights(
    const ConvResources& on, const Pass& p, float* to, bool turned, Gather&& gather) {
  const std::int64_t panel_floats = p.from.c * kPanel;
  constexpr std::int64_t kRows = 64;  // 74 kB of nine taps
  const std::int64_t taps = p.variant.window * p.variant.window;
  const std::int64_t pieces = ceil_div(p.from.c, kRows);
  TaskBuffers buffers(on.workspace, on.threads, taps * kRows * kPanel);
  on.threads.run(p.panels() * pieces, [&](std::int64_t task) {
    const TaskBuffers::Lease buffer(buffers);
    const std::int64_t panel = task / pieces;
    const std::int64_t first = task % pieces * kRows;
    const std::int64_t rows = std::min(kRows, p.from.c - first);
    gather(panel, first, rows, buffer.data());
    const std::int64_t stride = rows * kPanel;
    p.variant.weight(buffer.data() + (turned ? (taps - 1) * stride : 0),
                     turned ? -stride : stride,
                     rows,
                     {to + panel * panel_floats + first * kPanel, weight_matrix_floats(p)});
  });
}

void transform_input(const Pass& p,
                     std::int64_t begin,
                     std::int64_t end,
                     const float* zeros,
                     const Blocks& to,
                     std::int64_t row) {
  const float* pixels[TiledImages::kMaxPixels];
  for (std::int64_t tile = begin; tile < end; ++tile) {
    p.from.prefetch(p.in, tile + 1, p.from.c);
    p.from.find_pixels(p.in, tile, zeros, pixels);
    p.pass.input(pixels, p.from.c, {to.v.data + (row + tile - begin) * to.v_row, to.v.matrix});
  }
}

void transform_output(const Pass& p,
                      std::int64_t begin,
                      std::int64_t end,
                      const Blocks& from,
                      std::int64_t row,
                      std::int64_t first_panel,
                      std::int64_t last_panel) {
  const std::int64_t first = first_panel * kPanel;
  const std::int64_t channels = std::min(p.to.c, last_panel * kPanel) - first;
  float* pixels[TiledImages::kMaxPixels];
  for (std::int64_t tile = begin; tile < end; ++tile) {
    p.to.find_pixels<float>(p.out + first, tile, nullptr, pixels);
    p.pass.output({from.m.data + (row + tile - begin) * from.m_row, from.m.matrix},
                  channels,
                  pixels,
                  p.accumulate);
    if (p.epilogue != nullptr)
      p.epilogue->apply(pixels, p.to.pixels(), 0, p.first_channel + first, channels);
  }
}

/// Computes panels [first_panel, last_panel) of one of the products over a range of tiles.
void multiply(const ConvResources& on,
              const Pass& p,
              const Blocks& blocks,
              const WeightMatrices& u,
              std::int64_t matrix,
              std::int64_t weight_matrix,
              std::int64_t first_tile,
              std::int64_t last_tile,
              std::int64_t first_panel,
              std::int64_t last_panel) {
  constexpr std::int64_t kMaxRows = 240;
  const float* const weights = u.data + weight_matrix * u.matrix + first_panel * u.panel;
  const float* const next =
      weight_matrix + 1 < weight_matrices(p.variant) ? weights + u.matrix : nullptr;
  float* rows[kMaxRows];
  for (std::int64_t done = first_tile; done < last_tile; done += kMaxRows) {
    const std::int64_t n = std::min(kMaxRows, last_tile - done);
    for (std::int64_t i = 0; i < n; ++i)
      rows[i] = blocks.m.data + matrix * blocks.m.matrix + (done + i) * blocks.m_row;
    for (std::int64_t depth = 0; depth < p.from.c; depth += kDepth) {
      const simd::Run run{0, 0, std::min(kDepth, p.from.c - depth)};
      on.kernels.multiply(
          {.a = blocks.v.data + matrix * blocks.v.matrix + done * blocks.v_row + depth,
           .a_stride = blocks.v_row,
           .b = weights + depth * kPanel,
           .b_stride = u.panel,
           .runs = &run,
           .run_count = 1,
           .c = rows,
           .c_offset = 0,
           .rows = n,
           .columns = std::min(p.to.c, last_panel * kPanel) - first_panel * kPanel,
           .accumulate = depth > 0,
           .ahead = depth + kDepth < p.from.c ? weights + (depth + kDepth) * kPanel : next});
    }
  }
}

/// Runs tasks that each take a block of tiles through all three stages while it stays in the core's
/// cache, two panels of results at a time.
void run_fused(const ConvResources& on,
               const Pass& p,
               const WeightMatrices& u,
               const float* zeros) {
  // Transformed tiles and their products, together with weights that pass through.
  constexpr std::int64_t kBlockFloats = 192LL * 1024;
  constexpr std::int64_t kTileRows = 6;  // of the widest matrix kernel
  const std::int64_t groups = std::max<std::int64_t>(1, p.to.c / (2 * kPanel));
  const std::int64_t widest = std::min(p.to.c, ceil_div(p.panels(), groups) * kPanel);
  const std::int64_t fits =
      kBlockFloats / (product_matrices(p.variant) * (row_floats(p.from.c) + row_floats(widest)));
  const std::int64_t block = fits < kTileRows
                                 ? std::max<std::int64_t>(fits, 2)
                                 : std::min(fits / kTileRows, std::int64_t{4}) * kTileRows;
  const std::int64_t blocks = ceil_div(p.from.tiles(), block);
  TaskBuffers buffers(on.workspace, on.threads, block_floats(p, block, widest));
  on.threads.run(blocks, [&](std::int64_t task) {
    const TaskBuffers::Lease buffer(buffers);
    const Blocks b = make_blocks(p, block, widest, buffer.data());
    const std::int64_t begin = p.from.tiles() * task / blocks;
    const std::int64_t end = p.from.tiles() * (task + 1) / blocks;
    transform_input(p, begin, end, zeros, b, 0);
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = p.panels() * group / groups;
      const std::int64_t last = p.panels() * (group + 1) / groups;
      for_products(p.variant, [&](std::int64_t m, std::int64_t weights) {
        multiply(on, p, b, u, m, weights, 0, end - begin, first, last);
      });
      transform_output(p, begin, end, b, 0, first, last);
    }
  });
}

/// Runs one stage after the other over all tiles, for weights that are too large to pass through
/// the cache once per block of tiles.
void run_staged(const ConvResources& on,
                const Pass& p,
                const WeightMatrices& u,
                const float* zeros) {
  const std::int64_t tiles = p.from.tiles();
  const FloatWorkspace memory(on.workspace, block_floats(p, tiles, p.to.c));
  const Blocks b = make_blocks(p, tiles, p.to.c, memory.data());
  on.threads.parallel_for(tiles, 4, [&](std::int64_t begin, std::int64_t end) {
    transform_input(p, begin, end, zeros, b, begin);
  });
  std::vector<std::pair<std::int64_t, std::int64_t>> products;
  for_products(p.variant,
               [&](std::int64_t m, std::int64_t weights) { products.emplace_back(m, weights); });
  // Each part reads all of the smaller operand. The next one finds it in the core's cache.
  const bool in_tiles = tiles > p.to.c;
  const std::int64_t units = in_tiles ? tiles / kPanel : p.panels() / 2;
  const std::int64_t parts = std::clamp<std::int64_t>(
      kStagedTasks / product_matrices(p.variant), 1, std::max<std::int64_t>(1, units));
  on.threads.run(product_matrices(p.variant) * parts, [&](std::int64_t i) {
    const auto [m, weights] = products[static_cast<std::size_t>(i / parts)];
    const auto border = [&](std::int64_t n, std::int64_t part) { return n * part / parts; };
    const std::int64_t part = i % parts;
    if (in_tiles) {
      multiply(
          on, p, b, u, m, weights, border(tiles, part), border(tiles, part + 1), 0, p.panels());
    } else {
      const std::int64_t first = border(p.panels(), part);
      Blocks to = b;
      to.m.data += first * kPanel;
      multiply(on, p, to, u, m, weights, 0, tiles, first, border(p.panels(), part + 1));
    }
  });
  on.threads.parallel_for(tiles, 4, [&](std::int64_t begin, std::int64_t end) {
    transform_output(p, begin, end, b, begin, 0, p.panels());
  });
}

void run_pass(const ConvResources& on, const Pass& p, const WeightMatrices& u) {
  // Transformed weights of half a megabyte (64 x 64 channels) stay in the second-level cache
  // together with a block. Up to two megabytes still arrive fast enough from the third level.
  constexpr std::int64_t kFusedWeights = 128LL * 128;
  const FloatWorkspace zeros(on.workspace, p.from.c);
  std::fill_n(zeros.data(), p.from.c, 0.0F);
  if (p.from.c * p.to.c > kFusedWeights)
    run_staged(on, p, u, zeros.data());
  else
    run_fused(on, p, u, zeros.data());
}

/// Computes one group; operands start with its first channel.
void forward_group(const ConvResources& on,
                   const Winograd& variant,
                   const ConvGeometry& g,
                   std::int64_t group,
                   const float* x,
                   const float* weight,
                   float* y,
                   bool accumulate,
                   const ConvEpilogue* epilogue) {
  const WinogradTiles tiles = forward_tiles(variant, g);
  const Pass p{.variant = variant,
               .pass = variant.forward,
               .from = tiles.from,
               .to = tiles.to,
               .in = x,
               .out = y,
               .accumulate = accumulate,
               .epilogue = epilogue,
               .first_channel = group * g.group_k()};
  const std::int64_t taps = g.r * g.s;
  const PackedWeights u(
      on,
      weight,
      PackedWeights::winograd_form(variant.stride),
      weight_matrices(p.variant) * weight_matrix_floats(p),
      [&](float* to) {
        transform_weights(
            on,
            p,
            to,
            false,
            [&](std::int64_t panel, std::int64_t first, std::int64_t rows, float* gathered) {
              const std::int64_t width = std::min(kPanel, p.to.c - panel * kPanel);
              for (std::int64_t t = 0; t < taps; ++t)
                on.kernels.transpose(weight + (panel * kPanel * taps + t) * p.from.c + first,
                                     taps * p.from.c,
                                     width,
                                     rows,
                                     gathered + t * rows * kPanel,
                                     kPanel);
            });
      });
  run_pass(on, p, {u.data(), weight_matrix_floats(p), p.from.c * kPanel});
}

/// Computes one group; operands start with its first channel.
void backward_data_group(const ConvResources& on,
                         const Winograd& variant,
                         const ConvGeometry& g,
                         const float* dy,
                         const float* weight,
                         float* dx,
                         GradMode mode) {
  const WinogradTiles tiles = backward_tiles(variant, g);
  const Pass p{.variant = variant,
               .pass = variant.backward,
               .from = tiles.from,
               .to = tiles.to,
               .in = dy,
               .out = dx,
               .accumulate = mode == GradMode::accumulate};
  const std::int64_t taps = g.r * g.s;
  const FloatWorkspace u(on.workspace, weight_matrices(p.variant) * weight_matrix_floats(p));
  transform_weights(
      on,
      p,
      u.data(),
      true,
      [&](std::int64_t panel, std::int64_t first, std::int64_t rows, float* gathered) {
        const std::int64_t width = std::min(kPanel, p.to.c - panel * kPanel);
        for (std::int64_t t = 0; t < taps; ++t)
          for (std::int64_t i = 0; i < rows; ++i)
            std::copy_n(weight + ((first + i) * taps + t) * p.to.c + panel * kPanel,
                        width,
                        gathered + (t * rows + i) * kPanel);
      });
  run_pass(on, p, {u.data(), weight_matrix_floats(p), p.from.c * kPanel});
}

}  // namespace

const Winograd* winograd_variant(const simd::Kernels& kernels, const ConvGeometry& g) {
  constexpr std::int64_t kChannels = 16;  // fill the widest vectors
  const Conv2dOptions& o = g.options;
  if (g.r != g.s || o.stride_h != o.stride_w) return nullptr;
  if (g.group_c() < kChannels || g.group_k() < kChannels) return nullptr;
  for (const Winograd& variant : kernels.winograd)
    if (g.r == variant.window && o.stride_h == variant.stride) return &variant;
  return nullptr;
}

void winograd_forward(const ConvResources& on,
                      const ConvGeometry& g,
                      const float* x,
                      const float* weight,
                      const float* bias,
                      float* y,
                      const ConvEpilogue* epilogue) {
  const Winograd& variant = *winograd_variant(on.kernels, g);
  if (bias != nullptr)
    on.threads.parallel_for(g.n * g.p * g.q, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) std::copy_n(bias, g.k, y + i * g.k);
    });
  for (std::int64_t group = 0; group < g.options.groups; ++group)
    forward_group(on,
                  variant,
                  g,
                  group,
                  x + group * g.group_c(),
                  weight + group * group_weights(g),
                  y + group * g.group_k(),
                  bias != nullptr,
                  epilogue);
}

void winograd_backward_data(const ConvResources& on,
                            const ConvGeometry& g,
                            const float* dy,
                            const float* weight,
                            float* dx,
                            GradMode mode) {
  const Winograd& variant = *winograd_variant(on.kernels, g);
  for (std::int64_t group = 0; group < g.options.groups; ++group)
    backward_data_group(on,
                        variant,
                        g,
                        dy + group * g.group_k(),
                        weight + group * group_weights(g),
                        dx + group * g.group_c(),
                        mode);
}

}  // namespace learn::cpu
