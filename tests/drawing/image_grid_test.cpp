#include "framework/drawing/image_grid.h"

#include "framework/core/error.h"
#include "tests/drawing/pixels.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace learn;
using namespace learn::plot;

namespace {

Image of_color(int width, int height, Color color) {
  Image image{width, height, {}};
  for (int i = 0; i < width * height; ++i)
    image.rgb.insert(image.rgb.end(), {color.r, color.g, color.b});
  return image;
}

/// A colour that nothing else has.
Color color_of(int i) {
  return {static_cast<std::uint8_t>(10 + 20 * i), 200, static_cast<std::uint8_t>(250 - 20 * i)};
}

ImageGrid grid_of(int cells) {
  ImageGrid grid{.title = "A title"};
  for (int i = 0; i < cells; ++i)
    grid.cells.push_back({{of_color(8, 8, color_of(i))}, {{"c" + std::to_string(i)}}});
  return grid;
}

}  // namespace

TEST_CASE("images are arranged in rows, uncut, of one size") {
  ImageGrid grid = grid_of(6);
  grid.columns = 3;
  const Image image = image_grid(grid).render(1);
  std::vector<Extremes> at;
  at.reserve(6);
  for (int i = 0; i < 6; ++i) at.push_back(find_color(image, color_of(i), 0, -1, 3));
  for (const Extremes& one : at) {
    CHECK(one.right - one.left == 95);
    CHECK(one.bottom - one.top == 95);
  }
  for (const int i : {0, 1, 3, 4}) {
    CHECK(at[static_cast<std::size_t>(i)].right < at[static_cast<std::size_t>(i + 1)].left);
    CHECK(at[static_cast<std::size_t>(i)].top == at[static_cast<std::size_t>(i + 1)].top);
  }
  CHECK(at[3].left == at[0].left);
  CHECK(at[3].top > at[0].bottom + 10);  // the caption is between
}

TEST_CASE("an image keeps its shape, and its pixels are squares of one size") {
  Image image{3, 2, {}};
  for (int i = 0; i < 6; ++i) {
    const Color c = color_of(i);
    image.rgb.insert(image.rgb.end(), {c.r, c.g, c.b});
  }
  const Image drawn = image_grid({.title = "", .cells = {{{image}, {}}}}).render(1);
  for (int i = 0; i < 6; ++i) {
    const Extremes one = find_color(drawn, color_of(i), 0, -1, 3);
    CHECK(one.right - one.left == 31);
    CHECK(one.bottom - one.top == 31);
  }
}

TEST_CASE("images of a cell are next to each other, with one caption") {
  ImageGrid grid{.title = "before and after"};
  grid.cells.push_back(
      {{of_color(8, 8, color_of(0)), of_color(8, 8, color_of(1))}, {{"cat"}, {"dog", kWrong}}});
  const Drawing drawing = image_grid(grid);
  const Image image = drawing.render(1);
  const Extremes before = find_color(image, color_of(0), 0, -1, 3),
                 after = find_color(image, color_of(1), 0, -1, 3);
  CHECK(before.top == after.top);
  CHECK(after.left - before.right < 8);
  CHECK(drawing.texts() == std::vector<std::string>{"before and after", "cat", "dog"});
  // A wrong prediction has its colour.
  CHECK(find_color(image, kWrong, before.bottom + 1, -1, 60).count > 10);
  CHECK(find_color(image, kRight, before.bottom + 1, -1, 60).count == 0);
}

TEST_CASE("under its caption an image has the last part of its path") {
  ImageGrid grid = grid_of(2);
  grid.cells[0].source = "some/folder/of my own/cat 12.png";
  grid.cells[1].source = "image 7";
  const Drawing drawing = image_grid(grid);
  CHECK(drawing.texts() ==
        std::vector<std::string>{"A title", "c0", "cat 12.png", "c1", "image 7"});
  const Drawing without = image_grid(grid_of(2));
  CHECK(drawing.height() == without.height() + 15);
  const Image image = drawing.render(1);
  const Extremes cat = find_color(image, color_of(0), 0, -1, 3);
  CHECK(find_color(image, kSoftInk, cat.bottom + 1, -1, 60).count > 10);
}

TEST_CASE("a grid is about square, and no wider than a page") {
  struct Grid {
    int cells, columns;
  };
  for (const Grid expected :
       {Grid{1, 1}, Grid{4, 2}, Grid{9, 3}, Grid{24, 6}, Grid{64, 8}, Grid{1000, 10}}) {
    CAPTURE(expected.cells);
    ImageGrid grid{.title = ""};
    for (int i = 0; i < expected.cells; ++i)
      grid.cells.push_back({{of_color(4, 4, kInk)}, {{"c"}}});
    CHECK(std::lround((image_grid(grid).width() - 18) / 110) == expected.columns);
  }
  // Captions get some room, but what is very long is cut.
  ImageGrid grid = grid_of(2);
  grid.columns = 2;
  const double usual = image_grid(grid).width();
  grid.cells[0].caption[0].text = "automobile 97 %  (0.12)";
  const double wider = image_grid(grid).width();
  CHECK(wider > usual);
  grid.cells[0].caption[0].text = std::string(500, 'x');
  CHECK(image_grid(grid).width() < usual + 130);
  CHECK(image_grid({.title = "nothing"}).height() > 0);
}

TEST_CASE("large images are reduced, broken ones refused") {
  CHECK(image_grid({.title = "", .cells = {{{of_color(600, 300, kInk)}, {}}}}).width() < 200);
  ImageGrid broken = grid_of(1);
  broken.cells[0].images[0].rgb.pop_back();
  CHECK_THROWS_AS((void)image_grid(broken), UsageError);
}
