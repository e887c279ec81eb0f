#include "framework/report/plot.h"

#include "framework/core/error.h"
#include "framework/report/png.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <png.h>

#include <cmath>
#include <limits>

using namespace learn;
using namespace learn::plot;

namespace {

struct Image {
  unsigned width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

Image read(const std::filesystem::path& path) {
  png_image file{};
  file.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&file, path.c_str()) != 0);
  file.format = PNG_FORMAT_RGB;
  Image image{file.width, file.height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(file))};
  REQUIRE(png_image_finish_read(&file, nullptr, image.rgb.data(), 0, nullptr) != 0);
  return image;
}

/// Pixels that are clearly of the first series' colour, as a share of all; and their extremes.
struct Blue {
  int count = 0, top = 1 << 20, bottom = -1;
};
Blue blue_pixels(const Canvas& canvas, int from_y, int to_y) {
  Blue blue;
  for (int y = from_y; y < to_y; ++y)
    for (int x = 0; x < canvas.width(); ++x) {
      const Color c = canvas.pixel(x, y);
      if (c.r > 40 || c.b < 150) continue;
      ++blue.count;
      blue.top = std::min(blue.top, y);
      blue.bottom = std::max(blue.bottom, y);
    }
  return blue;
}

}  // namespace

TEST_CASE("a PNG holds the pixels it was given") {
  const TemporaryFolder folder;
  const std::vector<std::uint8_t> rgb{
      255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 40, 50, 60, 70, 80, 90};
  write_png(folder / "p.png", 3, 2, rgb);
  const Image image = read(folder / "p.png");
  CHECK(image.width == 3);
  CHECK(image.height == 2);
  CHECK(image.rgb == rgb);
  CHECK_THROWS_AS(write_png(folder / "q.png", 3, 3, rgb), UsageError);
  CHECK_THROWS_AS(write_png(folder / "no" / "q.png", 3, 2, rgb), IoError);
}

TEST_CASE("axes have round ticks inside their range") {
  const Axis axis = make_axis(0.13, 2.31, 6);
  CHECK(axis.step == doctest::Approx(0.5));
  REQUIRE(axis.ticks.size() == 4);
  CHECK(axis.ticks.front() == doctest::Approx(0.5));
  CHECK(axis.ticks.back() == doctest::Approx(2.0));
  CHECK(tick_label(0.5, axis.step) == "0.5");

  CHECK(make_axis(1, 3, 6, true).step == 1);
  CHECK(make_axis(0, 100, 5).step == 20);
  CHECK(tick_label(20, 20) == "20");
  CHECK(tick_label(3e-5, 1e-5) == "3.0e-05");
  CHECK(tick_label(0.25, 0.05) == "0.25");
  CHECK(tick_label(-1e-18, 0.1) == "0");

  const Axis flat = make_axis(5, 5, 4);
  CHECK(flat.low < 5);
  CHECK(flat.high > 5);
  CHECK(flat.ticks.size() >= 2);
  CHECK_FALSE(make_axis(0, 0, 4).ticks.empty());
}

TEST_CASE("a line spans the panel, and what is not finite breaks it") {
  Figure figure{.panels = {{"loss", "epoch", {{"a", {0, 1, 2}, {0, 5, 10}}}}}};
  const Canvas canvas = draw(figure);
  // Below the legend, above the axis labels.
  const Blue line = blue_pixels(canvas, 40, canvas.height() - 60);
  CHECK(line.count > 500);
  // The data fill the axis but for the 5 % of room above and below.
  CHECK(line.bottom - line.top > 0.85 * (figure.panel_height - 110));

  figure.panels[0].series[0].y[1] = std::numeric_limits<double>::quiet_NaN();
  // Only the two end points are left, as dots.
  CHECK(blue_pixels(draw(figure), 40, canvas.height() - 60).count < 40);
}

TEST_CASE("odd figures are drawn without fault") {
  CHECK(draw({}).width() > 0);
  Figure figure{.title = "all kinds of nothing \xC3\xA9"};
  figure.panels.push_back({"empty", "x", {}});
  figure.panels.push_back({"one point", "x", {{"p", {1}, {1}, true}}});
  figure.panels.push_back({"all NaN", "x", {{"p", {1, 2}, {NAN, NAN}}}});
  figure.panels.push_back({"log", "x", {{"p", {1, 2, 3}, {0, 1e-3, 1e3}}}, false, true});
  figure.panels.push_back({"lengths differ", "x", {{"p", {1, 2, 3}, {1}}}});
  const TemporaryFolder folder;
  save(folder / "odd.png", figure);
  CHECK(read(folder / "odd.png").width == 5U * 640U);
}
