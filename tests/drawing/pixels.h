#pragma once
#include "framework/drawing/drawing.h"

#include <algorithm>

/// Where an image has a colour.
struct Extremes {
  int count = 0, left = 1 << 20, right = -1, top = 1 << 20, bottom = -1;
};

/// Whether no channel differs by more than `tolerance`.
[[nodiscard]] inline bool close(learn::plot::Color a, learn::plot::Color b, int tolerance) {
  return std::max({std::abs(a.r - b.r), std::abs(a.g - b.g), std::abs(a.b - b.b)}) <= tolerance;
}

/// The pixels of (nearly) that colour in the rows from `from` to before `to`; -1: to the last.
[[nodiscard]] inline Extremes find_color(const learn::plot::Image& image,
                                         learn::plot::Color color,
                                         int from = 0,
                                         int to = -1,
                                         int tolerance = 12) {
  Extremes found;
  for (int y = from; y < (to < 0 ? image.height : to); ++y)
    for (int x = 0; x < image.width; ++x) {
      if (!close(image.pixel(x, y), color, tolerance)) continue;
      ++found.count;
      found.left = std::min(found.left, x);
      found.right = std::max(found.right, x);
      found.top = std::min(found.top, y);
      found.bottom = std::max(found.bottom, y);
    }
  return found;
}
