#pragma once
#include "framework/drawing/plot.h"

#include <vector>

/// For plot.cpp.
namespace learn::plot {

/// How a series is drawn.
struct Look {
  Color color;
  Stroke stroke;
};
/// Those of all series of a panel.
[[nodiscard]] std::vector<Look> looks_of(const Panel& panel);

/// Names of a panel's series with samples of their lines, in rows of a given width.
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
