#pragma once
#include "framework/drawing/plot.h"

#include <vector>

/// For plot.cpp.
namespace learn::plot {

/// The colour and stroke of a series.
struct Look {
  Color color;
  Stroke stroke;
};
/// Returns the looks of all series of a panel.
[[nodiscard]] std::vector<Look> looks_of(const Panel& panel);

/// The names of a panel's series, each with a sample of its line, in rows of a given width.
class Legend {
 public:
  Legend(const Panel& panel, double width);
  [[nodiscard]] double height() const noexcept;
  void draw(Drawing& drawing, Point top_left) const;

 private:
  struct Entry {
    const Series* series;
    Look look;
    Point at;
  };
  double width_;
  std::vector<Entry> entries_;
  int rows_ = 0;
};

}  // namespace learn::plot
