#pragma once
#include "framework/kernels/common/cpu/simd/kernels.h"
#include "framework/kernels/conv/cpu/conv_taps.h"

#include <cstdint>
#include <vector>

namespace learn::cpu {

/// Positions of a class (`AxisClass`) at even distances, as are their sources.
struct EvenPositions {
  std::int64_t to, to_step;
  std::int64_t from, from_step;
  std::int64_t count;

  /// Returns those whose results are in [begin, end).
  [[nodiscard]] EvenPositions within(std::int64_t begin, std::int64_t end) const;
};

/// Divides the positions of a class.
[[nodiscard]] std::vector<EvenPositions> even_positions(const AxisClass& positions);

/// The two images of a grouped convolution.
struct GroupedImages {
  std::int64_t from_h, from_w, to_h, to_w;
  std::int64_t window_h, window_w;
  std::int64_t channels, width;  ///< of all groups, and of one
};

/// Results that see the same taps.
class GroupedPart {
 public:
  GroupedPart(const GroupedImages& images, const AxisClass& rows, const AxisClass& columns);

  /// Calls `compute(grid, offset in the source, offset in the result)`, in floats, for the rows
  /// [begin, end) of the result of one image.
  template <class Compute>
  void visit(const GroupedImages& images,
             std::int64_t begin,
             std::int64_t end,
             Compute&& compute) const {
    for (const EvenPositions& all : rows_) {
      const EvenPositions rows = all.within(begin, end);
      if (rows.count == 0) continue;
      for (const EvenPositions& columns : columns_)
        compute(grid_of(images, rows, columns),
                (rows.from * images.from_w + columns.from) * images.channels,
                (rows.to * images.to_w + columns.to) * images.channels);
    }
  }

 private:
  [[nodiscard]] simd::GroupedGrid grid_of(const GroupedImages& images,
                                          const EvenPositions& rows,
                                          const EvenPositions& columns) const;

  std::vector<EvenPositions> rows_, columns_;
  std::vector<simd::WindowTap> taps_;
};

/// Returns all parts of a convolution with these classes of rows and columns.
[[nodiscard]] std::vector<GroupedPart> grouped_parts(const GroupedImages& images,
                                                     const std::vector<AxisClass>& rows,
                                                     const std::vector<AxisClass>& columns);

}  // namespace learn::cpu
