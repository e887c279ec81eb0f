#pragma once
#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/simd/kernels.h"
#include "framework/kernels/conv/conv_geometry.h"

#include <algorithm>
#include <cstdint>

namespace learn::cpu {

/// Tasks into which the products of all matrices are divided at least, if they are processed stage
/// by stage: enough for 64 cores.
inline constexpr std::int64_t kStagedTasks = 144;

/// Square tiles of images: `rows` x `columns` per image, `size` pixels wide and one every `step`
/// pixels. The first one starts `top` and `left` pixels before the image.
struct Tiling {
  std::int64_t rows, columns;
  std::int64_t top, left;
  std::int64_t size, step;
};

/// Channels of images (n,h,w,c), with `pixel_stride` floats between neighbouring pixels, in tiles.
struct TiledImages : Tiling {
  static constexpr std::int64_t kMaxPixels = 81;  ///< of a tile

  std::int64_t n, h, w, c;
  std::int64_t pixel_stride;

  [[nodiscard]] std::int64_t tiles() const { return n * rows * columns; }
  [[nodiscard]] std::int64_t pixels() const { return size * size; }

  /// Finds pointers to the pixels of a tile, with `outside` for pixels beyond the image's border.
  template <class T>
  void find_pixels(T* images, std::int64_t tile, T* outside, T** pixels) const {
    visit_pixels(images, tile, 0, [&](std::int64_t i, T* pixel) {
      pixels[i] = pixel != nullptr ? pixel : outside;
    });
  }

  /// Requests `channels` of the pixels that this tile, which may be one after the last, does not
  /// share with its neighbour. No hardware foresees them, because rows are too far apart.
  void prefetch(const float* images, std::int64_t tile, std::int64_t channels) const {
    constexpr std::int64_t kCacheLine = 16;
    if (tile >= tiles()) return;
    visit_pixels(images, tile, size - step, [&](std::int64_t, const float* pixel) {
      if (pixel == nullptr) return;
      for (std::int64_t at = 0; at < channels; at += kCacheLine) __builtin_prefetch(pixel + at);
    });
  }

 private:
  /// Calls `visit(index, pixel)` for the columns of a tile from the `first` one on, with null for
  /// pixels beyond the border.
  template <class T, class Visit>
  void visit_pixels(T* images, std::int64_t tile, std::int64_t first, Visit&& visit) const {
    const std::int64_t h0 = tile / columns % rows * step - top;
    const std::int64_t w0 = tile % columns * step - left;
    T* image = images + tile / (rows * columns) * h * w * pixel_stride;
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = first; j < size; ++j) {
        const std::int64_t y = h0 + i;
        const std::int64_t x = w0 + j;
        const bool inside = y >= 0 && y < h && x >= 0 && x < w;
        visit(i * size + j, inside ? image + (y * w + x) * pixel_stride : nullptr);
      }
  }
};

/// The images that a pass of Winograd's algorithm reads and those that it computes, of one group.
struct WinogradTiles {
  TiledImages from, to;
};

[[nodiscard]] inline TiledImages tiled_input(const ConvGeometry& g, const Tiling& tiling) {
  return {tiling, g.n, g.h, g.w, g.group_c(), g.c};
}
[[nodiscard]] inline TiledImages tiled_results(const ConvGeometry& g, const Tiling& tiling) {
  return {tiling, g.n, g.p, g.q, g.group_k(), g.k};
}

[[nodiscard]] inline WinogradTiles forward_tiles(const simd::Winograd& v, const ConvGeometry& g) {
  const Conv2dOptions& o = g.options;
  const std::int64_t size = v.forward.to;
  const std::int64_t rows = ceil_div(g.p, size);
  const std::int64_t columns = ceil_div(g.q, size);
  return {.from = tiled_input(
              g, {rows, columns, o.pad_top, o.pad_left, v.forward.from, size * v.stride}),
          .to = tiled_results(g, {rows, columns, 0, 0, size, size})};
}

/// Pixel u of the input gets its gradient through tap t from result (u + padding - t) / stride. The
/// first pixel of a tile has tap stride - 1, as u = 0 does in most networks.
[[nodiscard]] inline WinogradTiles backward_tiles(const simd::Winograd& v, const ConvGeometry& g) {
  const Conv2dOptions& o = g.options;
  const std::int64_t tap = v.stride - 1;
  const auto before = [&](std::int64_t pad) { return (pad + 1) % v.stride; };
  const auto first_result = [&](std::int64_t pad) {
    return (pad - before(pad) - tap) / v.stride - (v.window - 1 - tap) / v.stride;
  };
  const std::int64_t rows = ceil_div(g.h + before(o.pad_top), v.backward.to);
  const std::int64_t columns = ceil_div(g.w + before(o.pad_left), v.backward.to);
  return {
      .from = tiled_results(g,
                            {rows,
                             columns,
                             -first_result(o.pad_top),
                             -first_result(o.pad_left),
                             v.backward.from,
                             v.backward.to / v.stride}),
      .to = tiled_input(
          g, {rows, columns, before(o.pad_top), before(o.pad_left), v.backward.to, v.backward.to})};
}

/// Return the number of matrices of a product's operands, and of weights.
[[nodiscard]] inline std::int64_t product_matrices(const simd::Winograd& v) {
  return v.points * v.points;
}
[[nodiscard]] inline std::int64_t weight_matrices(const simd::Winograd& v) {
  return v.weight_points * v.weight_points;
}

/// Calls `visit(matrix, weight matrix)` for all products, ordered by weight matrix.
template <class Visit>
void for_products(const simd::Winograd& v, Visit&& visit) {
  const auto last = [&](std::int64_t weight_point) {
    return weight_point + 1 < v.weight_points ? weight_point + 1 : v.points;
  };
  for (std::int64_t row = 0; row < v.weight_points; ++row)
    for (std::int64_t column = 0; column < v.weight_points; ++column)
      for (std::int64_t i = row; i < last(row); ++i)
        for (std::int64_t j = column; j < last(column); ++j)
          visit(i * v.points + j, row * v.weight_points + column);
}

}  // namespace learn::cpu
