#include "callbacks/report/lr_find_figure.h"

#include <doctest/doctest.h>

using namespace learn;

namespace {

LrFindResult found_of(std::size_t updates) {
  LrFindResult found;
  for (std::size_t i = 0; i < updates; ++i) {
    found.lrs.push_back(1e-4 * static_cast<double>(i + 1));
    found.losses.push_back(2.0 - 0.1 * static_cast<double>(i));
    found.smoothed.push_back(2.5 - 0.1 * static_cast<double>(i));
  }
  return found;
}

}  // namespace

TEST_CASE("a rate finder's figure has the curve without its end and the suggestions on it") {
  LrFindResult found = found_of(15);
  found.suggestions = {.valley = 5e-4, .slide = {}, .minimum = 2.5e-4, .steep = 1};
  const plot::Figure figure = callbacks::lr_find_figure(found);
  REQUIRE(figure.panels.size() == 1);
  const plot::Panel& panel = figure.panels[0];
  CHECK(panel.log_x);
  REQUIRE(panel.series.size() == 5);  // no slide
  CHECK(panel.series[0].y == std::vector<double>(found.losses.begin(), found.losses.begin() + 10));
  CHECK(panel.series[1].y ==
        std::vector<double>(found.smoothed.begin(), found.smoothed.begin() + 10));
  CHECK(panel.series[0].color == panel.series[1].color);
  CHECK(panel.series[2].name == "valley 0.0005");
  CHECK(panel.series[2].y[0] == found.smoothed[4]);
  CHECK(panel.series[3].name == "minimum 0.00025");
  CHECK(panel.series[3].y[0] == found.smoothed[2]);  // the next update's
  CHECK(panel.series[4].y[0] == found.smoothed[14]);
}

TEST_CASE("a sweep of a few updates is shown whole") {
  CHECK(callbacks::lr_find_figure(found_of(5)).panels[0].series[0].x.size() == 5);
}
