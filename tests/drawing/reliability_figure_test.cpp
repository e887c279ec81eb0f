#include "framework/drawing/reliability_figure.h"

#include "framework/core/error.h"
#include "tests/drawing/pixels.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::plot;

TEST_CASE("a reliability figure has a bar for each bin that has predictions") {
  ReliabilityFigure figure{.title = "runs/ten", .bins = std::vector<CalibrationBin>(4)};
  figure.bins[1] = {100, 0.4, 0.24};
  figure.bins[3] = {300, 0.9, 0.9};
  const Drawing drawing = reliability_figure(figure);
  CHECK(drawing.texts().front() == "runs/ten: ECE 0.040");
  const Image image = drawing.render(1);
  const Color bar = mix(kWhite, palette(0), 0.85);
  constexpr int kBelowLegend = 84;
  const Extremes bars = find_color(image, bar, kBelowLegend, -1, 3);
  // The second bin ends where the third, which is empty, starts.
  const int quarter = (bars.right - bars.left) / 3;
  CHECK(close(image.pixel(bars.left + quarter / 2, bars.bottom - 5), bar, 3));
  CHECK(close(image.pixel(bars.left + quarter * 3 / 2, bars.bottom - 5), kWhite, 3));
  CHECK(close(image.pixel(bars.right - quarter / 2, bars.bottom - 5), bar, 3));
  // 0.9 of the height, and what the other bin lacks to its confidence.
  CHECK(bars.bottom - bars.top == doctest::Approx(0.9 * 320).epsilon(0.02));
  CHECK(find_color(image, mix(kWhite, palette(1), 0.35), kBelowLegend, -1, 3).count > 500);
  for (const char* const text : {"share correct",
                                 "images",
                                 "overconfident",
                                 "underconfident",
                                 "mean confidence",
                                 "perfectly calibrated"})
    CHECK(std::ranges::find(drawing.texts(), text) != drawing.texts().end());
}

TEST_CASE("the legend of a reliability figure has the colours that are drawn") {
  ReliabilityFigure figure{.title = "runs/ten", .bins = std::vector<CalibrationBin>(4)};
  figure.bins[1] = {100, 0.4, 0.2};
  figure.bins[2] = {195, 0.6, 0.9};
  const Drawing drawing = reliability_figure(figure);
  const Image image = drawing.render(1);
  const Color bar = mix(kWhite, palette(0), 0.85);
  constexpr int kLegend = 35, kBelowLegend = 84;
  for (const Color color : {bar,
                            mix(kWhite, palette(1), 0.35),  // less correct than said
                            mix(bar, palette(1), 0.35),     // more
                            palette(1)}) {                  // the mean
    CHECK(find_color(image, color, kLegend, kBelowLegend, 3).count >= 30);
    CHECK(find_color(image, color, kBelowLegend, -1, 3).count >= 150);
  }
  // No bar of the counts is higher than their last tick.
  for (const char* const tick : {"0", "100", "200"})
    CHECK(std::ranges::find(drawing.texts(), tick) != drawing.texts().end());
}

TEST_CASE("a reliability figure without predictions says so, and one without bins is refused") {
  CHECK(reliability_figure({.title = "", .bins = {{0, 0, 0}}}).texts().front() == "no predictions");
  CHECK_THROWS_AS((void)reliability_figure({}), UsageError);
}
