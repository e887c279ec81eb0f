#pragma once
#include "framework/kernels/common/cpu/simd/kernels.h"

#include <cstdint>

namespace learn::cpu {

/// Images (n,h,w,c) divided into tiles: `rows` x `columns` per image, one every four pixels. The
/// first one starts `top` and `left` pixels before the image.
struct TiledImages {
  std::int64_t n, h, w, c;
  std::int64_t rows, columns;
  std::int64_t top, left;

  [[nodiscard]] std::int64_t tiles() const { return n * rows * columns; }

  /// Finds pointers to the size x size pixels of a tile, with `outside` for pixels beyond the
  /// image's border.
  template <class T>
  void find_pixels(T* images, std::int64_t tile, std::int64_t size, T* outside, T** pixels) const {
    visit_pixels(images, tile, size, 0, [&](std::int64_t i, T* pixel) {
      pixels[i] = pixel != nullptr ? pixel : outside;
    });
  }

  /// Requests `channels` of the pixels that this tile, which may be one after the last, does not
  /// share with its neighbour. No hardware foresees them, because rows are too far apart.
  void prefetch(const float* images,
                std::int64_t tile,
                std::int64_t size,
                std::int64_t channels) const {
    constexpr std::int64_t kCacheLine = 16;
    if (tile >= tiles()) return;
    visit_pixels(
        images, tile, size, size - simd::kWinogradTile, [&](std::int64_t, const float* pixel) {
          if (pixel == nullptr) return;
          for (std::int64_t at = 0; at < channels; at += kCacheLine) __builtin_prefetch(pixel + at);
        });
  }

 private:
  /// Calls `visit(index, pixel)` for the columns of a tile from the `first` one on, with null for
  /// pixels beyond the border.
  template <class T, class Visit>
  void visit_pixels(
      T* images, std::int64_t tile, std::int64_t size, std::int64_t first, Visit&& visit) const {
    const std::int64_t h0 = tile / columns % rows * simd::kWinogradTile - top;
    const std::int64_t w0 = tile % columns * simd::kWinogradTile - left;
    T* image = images + tile / (rows * columns) * h * w * c;
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = first; j < size; ++j) {
        const std::int64_t y = h0 + i;
        const std::int64_t x = w0 + j;
        const bool inside = y >= 0 && y < h && x >= 0 && x < w;
        visit(i * size + j, inside ? image + (y * w + x) * c : nullptr);
      }
  }
};

/// Returns the number of tiles needed to cover `extent` pixels.
[[nodiscard]] constexpr std::int64_t tiles_along(std::int64_t extent) {
  return (extent + simd::kWinogradTile - 1) / simd::kWinogradTile;
}

}  // namespace learn::cpu
