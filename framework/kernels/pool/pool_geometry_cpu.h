#pragma once
#include "framework/kernels/pool/pool_kernels.h"

#include <algorithm>
#include <cstdint>

namespace learn::cpu {

/// A half-open range of indices.
struct IndexRange {
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};

/// The mapping between elements of x and elements of y.
struct PoolGeometry : kernels::PoolSizes {
  /// Returns the offsets into window `out` that are inside the image, along an axis of `extent`
  /// elements.
  [[nodiscard]] static IndexRange inside(std::int64_t out,
                                         std::int64_t extent,
                                         std::int64_t window,
                                         std::int64_t stride,
                                         std::int64_t pad) noexcept {
    const std::int64_t first = out * stride - pad;
    return {std::max<std::int64_t>(0, -first), std::min(window, extent - first)};
  }
  [[nodiscard]] IndexRange rows_of(std::int64_t out) const noexcept {
    return inside(out, h, options.window_h, options.stride_h, options.pad_h);
  }
  [[nodiscard]] IndexRange columns_of(std::int64_t out) const noexcept {
    return inside(out, w, options.window_w, options.stride_w, options.pad_w);
  }

  /// Returns the windows, of `outputs` along an axis, that contain element `in`.
  [[nodiscard]] static IndexRange holding(std::int64_t in,
                                          std::int64_t outputs,
                                          std::int64_t window,
                                          std::int64_t stride,
                                          std::int64_t pad) noexcept {
    const std::int64_t last = (in + pad) / stride;
    const std::int64_t beyond =
        in + pad - window;  // windows that start here or earlier end before `in`
    return {beyond < 0 ? 0 : beyond / stride + 1, std::min(outputs, last + 1)};
  }
  [[nodiscard]] IndexRange windows_over_row(std::int64_t in) const noexcept {
    return holding(in, p, options.window_h, options.stride_h, options.pad_h);
  }
  [[nodiscard]] IndexRange windows_over_column(std::int64_t in) const noexcept {
    return holding(in, q, options.window_w, options.stride_w, options.pad_w);
  }

  /// Returns the divisor of an average over window (out_row, out_column).
  [[nodiscard]] std::int64_t divisor(std::int64_t out_row, std::int64_t out_column) const noexcept {
    return options.count_padding ? options.window_h * options.window_w
                                 : rows_of(out_row).size() * columns_of(out_column).size();
  }
};

}  // namespace learn::cpu
