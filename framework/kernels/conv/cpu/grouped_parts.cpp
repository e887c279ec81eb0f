#include "framework/kernels/conv/cpu/grouped_parts.h"

#include "framework/core/round_up.h"

#include <algorithm>
#include <utility>

namespace learn::cpu {

EvenPositions EvenPositions::within(std::int64_t begin, std::int64_t end) const {
  const auto before = [&](std::int64_t border) {
    return std::min(count, ceil_div(std::max<std::int64_t>(0, border - to), to_step));
  };
  const std::int64_t first = before(begin);
  const std::int64_t last = before(end);
  return {to + first * to_step, to_step, from + first * from_step, from_step, last - first};
}

std::vector<EvenPositions> even_positions(const AxisClass& positions) {
  std::vector<EvenPositions> even;
  for (const AxisClass::Position& p : positions.positions) {
    if (!even.empty()) {
      EvenPositions& last = even.back();
      if (last.count == 1) {
        last.to_step = p.to - last.to;
        last.from_step = p.from - last.from;
      }
      if (p.to == last.to + last.count * last.to_step &&
          p.from == last.from + last.count * last.from_step) {
        ++last.count;
        continue;
      }
    }
    even.push_back({p.to, 1, p.from, 0, 1});
  }
  return even;
}

GroupedPart::GroupedPart(const GroupedImages& images,
                         const AxisClass& rows,
                         const AxisClass& columns)
    : rows_(even_positions(rows)), columns_(even_positions(columns)) {
  for (const AxisClass::Tap& r : rows.taps) {
    first_row_ = std::min(first_row_, r.offset);
    last_row_ = std::max(last_row_, r.offset);
    for (const AxisClass::Tap& s : columns.taps)
      taps_.push_back({r.offset * images.from_row() + s.offset * images.channels,
                       r.index * images.window_w + s.index});
  }
}

void GroupedPart::add_sources(RowRange results, RowRange& sources) const {
  if (taps_.empty()) return;
  for (const EvenPositions& all : rows_) {
    const EvenPositions rows = all.within(results.begin, results.end);
    if (rows.count == 0) continue;
    const std::int64_t begin = rows.from + first_row_;
    const std::int64_t end = rows.from + (rows.count - 1) * rows.from_step + last_row_ + 1;
    sources = sources.count() == 0
                  ? RowRange{begin, end}
                  : RowRange{std::min(sources.begin, begin), std::max(sources.end, end)};
  }
}

simd::GroupedGrid GroupedPart::grid_of(const GroupedImages& images,
                                       const EvenPositions& rows,
                                       const EvenPositions& columns) const {
  simd::GroupedGrid grid{
      .rows = {rows.count, rows.from_step * images.from_row(), rows.to_step * images.to_row()},
      .columns = {columns.count,
                  columns.from_step * images.channels,
                  columns.to_step * images.channels},
      .taps = taps_.data(),
      .tap_count = static_cast<std::int64_t>(taps_.size()),
      .window = images.window_h * images.window_w,
      .width = images.width,
      .channels = images.channels};
  // Kernels compute neighbours along the columns at once, and an edge has only one.
  constexpr std::int64_t kEnough = 8;
  if (grid.columns.count < std::min(grid.rows.count, kEnough)) std::swap(grid.rows, grid.columns);
  return grid;
}

std::vector<GroupedPart> grouped_parts(const GroupedImages& images,
                                       const std::vector<AxisClass>& rows,
                                       const std::vector<AxisClass>& columns) {
  std::vector<GroupedPart> parts;
  for (const AxisClass& row : rows)
    for (const AxisClass& column : columns) parts.emplace_back(images, row, column);
  return parts;
}

RowRange source_rows(const std::vector<GroupedPart>& parts, RowRange results) {
  RowRange sources{0, 0};
  for (const GroupedPart& part : parts) part.add_sources(results, sources);
  return sources;
}

}  // namespace learn::cpu
