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

/// Rows of an image.
struct RowRange {
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

/// The two images of a grouped convolution.
struct GroupedImages {
  std::int64_t from_h, from_w, to_h, to_w;
  std::int64_t window_h, window_w;
  std::int64_t channels, width;  ///< of all groups, and of one

  /// Return the elements of a row, and of an image.
  [[nodiscard]] std::int64_t from_row() const { return from_w * channels; }
  [[nodiscard]] std::int64_t to_row() const { return to_w * channels; }
  [[nodiscard]] std::int64_t from_image() const { return from_h * from_row(); }
  [[nodiscard]] std::int64_t to_image() const { return to_h * to_row(); }
};

/// Returns whether n images are so large that they come from memory.
[[nodiscard]] inline bool is_streamed(std::int64_t n, const GroupedImages& images) {
  constexpr std::int64_t kCached = 2LL * 1024 * 1024;  // floats
  return n * images.from_image() > kCached;
}

/// Results that see the same taps.
class GroupedPart {
 public:
  GroupedPart(const GroupedImages& images, const AxisClass& rows, const AxisClass& columns);

  /// Calls `compute(grid, offset in the source, offset in the result)`, in floats, for some rows of
  /// the result of one image.
  template <class Compute>
  void visit(const GroupedImages& images, RowRange results, Compute&& compute) const {
    for (const EvenPositions& all : rows_) {
      const EvenPositions rows = all.within(results.begin, results.end);
      if (rows.count == 0) continue;
      for (const EvenPositions& columns : columns_)
        compute(grid_of(images, rows, columns),
                rows.from * images.from_row() + columns.from * images.channels,
                rows.to * images.to_row() + columns.to * images.channels);
    }
  }

  /// Widens `sources` to the rows that these rows of the result read.
  void add_sources(RowRange results, RowRange& sources) const;

 private:
  [[nodiscard]] simd::GroupedGrid grid_of(const GroupedImages& images,
                                          const EvenPositions& rows,
                                          const EvenPositions& columns) const;

  std::vector<EvenPositions> rows_, columns_;
  std::vector<simd::WindowTap> taps_;
  std::int64_t first_row_ = 0, last_row_ = 0;  // that taps read, relative to the first tap's
};

/// Returns all parts of a convolution with these classes of rows and columns.
[[nodiscard]] std::vector<GroupedPart> grouped_parts(const GroupedImages& images,
                                                     const std::vector<AxisClass>& rows,
                                                     const std::vector<AxisClass>& columns);
/// Returns the rows of the source that rows of the result read.
[[nodiscard]] RowRange source_rows(const std::vector<GroupedPart>& parts, RowRange results);

}  // namespace learn::cpu
