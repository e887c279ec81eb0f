#include "framework/drawing/plot.h"

#include "framework/core/error.h"
#include "tests/drawing/pixels.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace learn;
using namespace learn::plot;

namespace {

bool has_text(const Drawing& drawing, const std::string& text) {
  return std::ranges::find(drawing.texts(), text) != drawing.texts().end();
}

/// Below the title and legend of the first row.
constexpr int kBelowLegend = 60;

/// Pixels of that series' line, in a panel with one row of legend and no title of the figure.
Extremes line_of(const Figure& figure, Color color) {
  const Image image = draw(figure).render(1);
  return find_color(image, color, kBelowLegend, image.height - 50);
}

}  // namespace

TEST_CASE("a figure names its panels, axes with units, and every line") {
  const Drawing drawing = draw(
      {.title = "runs/ten",
       .panels = {{.title = "Loss",
                   .x_label = "epoch",
                   .series = {{"training", {0, 1}, {2, 1}}, {"validation", {0, 1}, {2, 1.5}}},
                   .y_label = "loss (nats)"},
                  {.title = "Speed", .x_label = "time (s)", .series = {{"cpu", {0, 1}, {2, 1}}}}}});
  for (const char* const text : {"runs/ten",
                                 "Loss",
                                 "epoch",
                                 "loss (nats)",
                                 "training",
                                 "validation",
                                 "Speed",
                                 "time (s)",
                                 "cpu"}) {
    CAPTURE(text);
    CHECK(has_text(drawing, text));
  }
  CHECK(drawing.width() == 2 * Figure().panel_width);
}

TEST_CASE("a line spans the panel, and what is not finite breaks it") {
  Figure figure{.panels = {{"loss", "epoch", {{"a", {0, 1, 2}, {0, 5, 10}}}}}};
  const Extremes line = line_of(figure, palette(0));
  CHECK(line.count > 300);
  // The data fill the axes except 5 % of room above.
  CHECK(line.bottom - line.top > 0.6 * figure.panel_height);
  CHECK(line.right - line.left > 0.8 * figure.panel_width);

  figure.panels[0].series[0].y[1] = std::numeric_limits<double>::quiet_NaN();
  // Only the two end points are left, as dots.
  CHECK(line_of(figure, palette(0)).count < 20);
}

TEST_CASE("raw values are pale, below their mean, in its colour") {
  const Series raw{.name = "raw", .x = {0, 1, 2}, .y = {0, 1, 1}, .faint = true, .color = 2};
  const Series mean{.name = "mean", .x = {0, 1, 2}, .y = {0.5, 0.5, 0.5}, .color = 2};
  const Figure figure{.panels = {{"loss", "epoch", {mean, raw, {"other", {0}, {0}, true}}}}};
  const Extremes solid = line_of(figure, palette(2));
  CHECK(solid.bottom - solid.top < 6);  // the mean alone
  const Extremes pale = line_of(figure, mix(kWhite, palette(2), 0.35));
  CHECK(pale.bottom - pale.top > 100);
  // The first colour that no series asked for.
  CHECK(line_of(figure, palette(0)).count > 10);
  CHECK(line_of(figure, palette(1)).count == 0);
}

TEST_CASE("a series takes the first colour that no other series uses") {
  const Figure figure{
      .panels = {{"t",
                  "x",
                  {{.name = "first", .x = {0}, .y = {0}, .markers = true},
                   {.name = "asks", .x = {1}, .y = {1}, .markers = true, .color = 0},
                   {.name = "last", .x = {2}, .y = {2}, .markers = true}}}}};
  const auto place = [&](std::size_t color) { return line_of(figure, palette(color)).left; };
  CHECK(place(1) < place(0));
  CHECK(place(0) < place(2));
}

TEST_CASE("the legend shows a sample of each line") {
  const auto samples = [](const Series& series, Color color) {
    constexpr int kScale = 4;  // lines are some pixels thick
    const Image image = draw({.panels = {{"t", "x", {series}}}}).render(kScale);
    return find_color(image, color, 0, kScale * kBelowLegend);
  };
  const Series solid{.name = "a", .x = {0, 1}, .y = {0, 1}};
  const int whole = samples(solid, palette(0)).count;
  CHECK(whole > 15);
  Series dashed = solid;
  dashed.dashed = true;
  CHECK(samples(dashed, palette(0)).count < whole);
  Series dotted = solid;  // the palette is used up: the seventh looks other than the first
  dotted.color = kPaletteColors;
  CHECK(samples(dotted, palette(0)).count < whole);
  Series both = dashed;
  both.color = kPaletteColors;
  CHECK(samples(both, palette(0)).count != samples(dashed, palette(0)).count);
  CHECK(samples(both, palette(0)).count != samples(dotted, palette(0)).count);
  Series marked = solid;
  marked.markers = true;
  CHECK(samples(marked, palette(0)).count > whole);
  Series faint = solid;
  faint.faint = true;
  CHECK(samples(faint, palette(0)).count == 0);
  CHECK(samples(faint, mix(kWhite, palette(0), 0.35)).count > 15);
}

TEST_CASE("a long name in a legend keeps its end") {
  const auto drawn = [](const std::string& end) {
    const std::string name = "runs/" + std::string(60, 'x') + end;
    return draw({.panels = {{"loss", "epoch", {{name, {0, 1}, {0, 1}}}}}}).render(1).rgb;
  };
  CHECK(drawn(": training") != drawn(": validation"));
}

TEST_CASE("several runs in a panel: the legend takes the rows that it needs") {
  Panel panel{.title = "loss", .x_label = "epoch", .integer_x = true};
  for (std::size_t run = 0; run < 12; ++run)
    panel.series.push_back({"runs/a-run-with-a-name-" + std::to_string(run),
                            {1, 2},
                            {1, 2},
                            false,
                            false,
                            false,
                            run});
  const Drawing many = draw({.panels = {panel, {"short", "epoch", {{"a", {1}, {1}}}}}});
  for (const Series& series : panel.series) CHECK(has_text(many, series.name));
  panel.series.resize(1);
  CHECK(many.height() > draw({.panels = {panel}}).height() + 60);
  // A name that is too long for a row is cut and does not leave the panel.
  panel.series[0].name = std::string(300, 'w');
  const Image image = draw({.panels = {panel}}).render(1);
  CHECK(find_color(image, kInk, 0, kBelowLegend).right < image.width - 10);
}

TEST_CASE("panels are in rows of up to three") {
  const auto size = [](std::size_t panels) {
    Figure figure;
    figure.panels.resize(panels);
    const Drawing drawing = draw(figure);
    return std::pair(std::lround(drawing.width() / figure.panel_width),
                     std::lround(std::floor(drawing.height() / figure.panel_height)));
  };
  CHECK(size(0) == std::pair(1L, 1L));
  CHECK(size(1) == std::pair(1L, 1L));
  CHECK(size(3) == std::pair(3L, 1L));
  CHECK(size(4) == std::pair(2L, 2L));
  CHECK(size(5) == std::pair(3L, 2L));
}

TEST_CASE("logarithmic axes, both ways") {
  Panel panel{.title = "finder", .x_label = "rate", .series = {{"a", {1e-6, 1e-3, 1}, {1, 2, 3}}}};
  panel.log_x = true;
  const Drawing drawing = draw({.panels = {panel}});
  CHECK(has_text(drawing, "10⁻⁶"));
  CHECK(has_text(drawing, "10⁰"));
  // Evenly spaced decades make a straight line of it.
  const Image image = drawing.render(1);
  const Extremes line = find_color(image, palette(0), kBelowLegend, image.height - 50);
  const int middle = (line.left + line.right) / 2;
  const Extremes there = [&] {
    Extremes found;
    for (int y = line.top; y <= line.bottom; ++y)
      if (close(image.pixel(middle, y), palette(0), 60)) found.top = std::min(found.top, y);
    return found;
  }();
  CHECK(std::abs(there.top - (line.top + line.bottom) / 2) <= 4);
  panel.log_y = true;
  panel.series[0].y = {0, 1e-4, 1e4};  // no logarithm has the first
  CHECK(has_text(draw({.panels = {panel}}), "10⁴"));
}

TEST_CASE("odd figures are drawn without fault") {
  CHECK(draw({}).width() > 0);
  Figure figure{.title = "all kinds of nothing é"};
  figure.panels.push_back({"empty", "x", {}});
  figure.panels.push_back({"one point", "x", {{"p", {1}, {1}, true}}});
  figure.panels.push_back({"all NaN", "x", {{"p", {1, 2}, {NAN, NAN}}}});
  figure.panels.push_back({"log", "x", {{"p", {1, 2, 3}, {0, 1e-3, 1e3}}}, false, true});
  figure.panels.push_back({"log of nothing", "x", {{"p", {0}, {-1}}}, false, true, true});
  figure.panels.push_back({"lengths differ", "x", {{"p", {1, 2, 3}, {1}}}});
  figure.panels.push_back({"huge", "x", {{"p", {1, 2, 3}, {-1e300, 0, 1e300}}}});
  figure.panels.push_back({"tiny", "x", {{"p", {1, 2, 3}, {0, 1e-300, 2e-300}}}});
  constexpr double kMax = std::numeric_limits<double>::max();
  constexpr double kMin = std::numeric_limits<double>::denorm_min();
  figure.panels.push_back({"all there is", "x", {{"p", {-kMax, 0, kMax}, {-kMax, 0, kMax}}}});
  figure.panels.push_back({"its logarithm", "x", {{"p", {1, 2}, {kMin, kMax}}}, false, true});
  figure.panels.push_back(
      {"both ways", "x", {{"p", {kMin, kMax}, {kMin, kMax}}}, false, true, true});
  figure.panels.push_back({"many epochs", "x", {{"p", {0, 1e18}, {0, 1}}}, true});
  const Drawing drawing = draw(figure);
  CHECK(std::ranges::count(drawing.texts(), "no values") == 3);
  const TemporaryFolder folder;
  save(folder / "odd.png", figure);
  save(folder / "odd.svg", figure);
  CHECK_THROWS_AS(save(folder / "odd.gif", figure), UsageError);
}
