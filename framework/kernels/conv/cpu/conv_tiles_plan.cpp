#include "framework/kernels/conv/cpu/conv_tiles_plan.h"

#include <algorithm>

namespace learn::cpu {
namespace {

using simd::Bf16Bits;
using simd::kTile;
using simd::kTileDepth;
using simd::kTilePanel;

// The source of a task and its sums each take about half a megabyte of the second-level cache,
// while weights are streamed.
constexpr std::int64_t kGatheredRows = 256;
constexpr std::int64_t kGatheredColumns = 512;
constexpr std::int64_t kStripColumns = 256;
constexpr std::int64_t kWantedTasks = 16;

}  // namespace

std::int64_t TileTask::sum_rows() const {
  const std::int64_t results = end - begin;
  return round_up(part->strip ? results / part->columns.count * part->strip->width : results,
                  kTile);
}

std::int64_t TileTask::sum_columns(const TileConv& conv) const {
  const std::int64_t first = first_panel * kTilePanel;
  return round_up(std::min(conv.to_c, last_panel * kTilePanel) - first, kTile);
}

std::int64_t TileTask::source_elements(const TileConv& conv) const {
  if (!part->strip) return sum_rows() * (std::min(part->depth, kGatheredDepth) + kTileRowGap);
  return part->strip->pixels((end - begin) / part->columns.count, kTile) * conv.from_c;
}

std::vector<TilePart> make_parts(const TileConv& conv) {
  std::vector<TilePart> parts;
  std::int64_t at = 0;
  for (const TileAxis& rows : conv.rows)
    for (const TileAxis& columns : conv.columns) {
      TilePart part{rows, columns, 0, at, {}};
      if (conv.from_c % kTileDepth == 0 && TileStrip::pays(rows, columns))
        part.strip.emplace(rows, columns);
      part.depth = round_up(part.taps() * conv.tap_depth(), kTileDepth);
      at += conv.groups * conv.panels_per_group() * part.depth * kTilePanel;
      parts.push_back(part);
    }
  return parts;
}

std::vector<TileTask> cut_into_tasks(const TileConv& conv, const std::vector<TilePart>& parts) {
  std::vector<TileTask> tasks;
  for (const TilePart& part : parts) {
    const TileGrid grid{conv.n, part.rows, part.columns};
    const std::vector<ResultRange> ranges = cut_grid(grid, part.strip, kGatheredRows);
    const std::int64_t panels = conv.panels_per_group();
    const std::int64_t most = part.strip ? kStripColumns : kGatheredColumns;
    const std::int64_t wanted =
        kWantedTasks /
        std::max<std::int64_t>(1, static_cast<std::int64_t>(ranges.size()) * conv.groups);
    const std::int64_t slices = std::clamp(wanted, ceil_div(conv.to_c, most), panels);
    for (std::int64_t group = 0; group < conv.groups; ++group)
      for (const auto& [begin, end] : ranges)
        for (std::int64_t s = 0; s < slices; ++s)
          tasks.push_back(
              {&part, group, begin, end, panels * s / slices, panels * (s + 1) / slices});
  }
  return tasks;
}

void pack_panel(const TileConv& conv, const TilePart& part, std::int64_t index, Bf16Bits* panel) {
  const TileWeightLayout& l = conv.layout;
  const std::int64_t in_group = index % conv.panels_per_group();
  const auto* from = reinterpret_cast<const Bf16Bits*>(conv.weight) +
                     index / conv.panels_per_group() * l.group + in_group * l.panel;
  for (const TileAxis::Tap& r : part.rows.taps)
    for (const TileAxis::Tap& s : part.columns.taps) {
      l.pair(from + (r.index * conv.window_w + s.index) * l.tap,
             l.row,
             conv.from_c,
             std::min(kTilePanel, conv.to_c - in_group * kTilePanel),
             panel,
             2 * kTilePanel);
      panel += conv.tap_depth() * kTilePanel;
    }
  std::fill_n(panel, (part.depth - part.taps() * conv.tap_depth()) * kTilePanel, Bf16Bits{0});
}

}  // namespace learn::cpu
