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
    const std::int64_t h0 = tile / columns % rows * simd::kWinogradTile - top;
    const std::int64_t w0 = tile % columns * simd::kWinogradTile - left;
    T* image = images + tile / (rows * columns) * h * w * c;
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j) {
        const std::int64_t y = h0 + i;
        const std::int64_t x = w0 + j;
        const bool inside = y >= 0 && y < h && x >= 0 && x < w;
        pixels[i * size + j] = inside ? image + (y * w + x) * c : outside;
      }
  }
};

/// Returns the number of tiles needed to cover `extent` pixels.
[[nodiscard]] constexpr std::int64_t tiles_along(std::int64_t extent) {
  return (extent + simd::kWinogradTile - 1) / simd::kWinogradTile;
}

}  // namespace learn::cpu
