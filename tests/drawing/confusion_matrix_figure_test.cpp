#include "framework/drawing/confusion_matrix_figure.h"

#include "framework/core/error.h"
#include "tests/drawing/pixels.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::plot;

namespace {

/// Only the diagonal.
ConfusionFigure figure_of(std::size_t classes) {
  ConfusionFigure figure{.title = "Confusion", .classes = {}, .counts = {}};
  for (std::size_t i = 0; i < classes; ++i) figure.classes.push_back("class " + std::to_string(i));
  figure.counts.assign(classes * classes, 0);
  for (std::size_t i = 0; i < classes; ++i) figure.counts[i * classes + i] = 7;
  return figure;
}

bool has_text(const Drawing& drawing, const std::string& text) {
  return std::ranges::find(drawing.texts(), text) != drawing.texts().end();
}

constexpr Color kAll{8, 48, 107};  // of a share of 1

}  // namespace

TEST_CASE("rows are the truth, columns the prediction") {
  ConfusionFigure figure = figure_of(4);
  figure.counts = {0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 7, 0, 0, 0, 0, 7};
  const Image image = confusion_matrix_figure(figure).render(1);
  // The diagonal except its first cell, and the last cell of the first row.
  const Extremes dark = find_color(image, kAll, 0, -1, 2);
  const Extremes first_row = find_color(image, kAll, dark.top, dark.top + 20, 2);
  CHECK(first_row.left > (dark.left + dark.right) / 2);
  const Extremes last_row = find_color(image, kAll, dark.bottom - 20, dark.bottom, 2);
  CHECK(last_row.left > (dark.left + dark.right) / 2);
  const Extremes second_row = find_color(image, kAll, dark.top + 80, dark.top + 100, 2);
  CHECK(second_row.right < last_row.left);
}

TEST_CASE("cells hold counts, shares or both") {
  ConfusionFigure figure = figure_of(2);
  figure.counts = {30, 10, 1, 999};
  const Drawing counts = confusion_matrix_figure(figure);
  CHECK(has_text(counts, "30"));
  CHECK(has_text(counts, "true class"));
  CHECK(has_text(counts, "predicted class"));
  CHECK(has_text(counts, "class 1"));
  CHECK_FALSE(has_text(counts, "<1%"));
  figure.text = CellText::shares;
  const Drawing shares = confusion_matrix_figure(figure);
  CHECK_FALSE(has_text(shares, "30"));
  CHECK(std::ranges::count(shares.texts(), "75%") == 2);  // the colour bar's too
  CHECK(has_text(shares, ">99%"));
  CHECK(has_text(shares, "<1%"));
  figure.text = CellText::both;
  CHECK(has_text(confusion_matrix_figure(figure), "30"));
  CHECK(has_text(confusion_matrix_figure(figure), "<1%"));
  // Images that were taken for no class count.
  figure.seen = {60, 1000};
  CHECK(std::ranges::count(confusion_matrix_figure(figure).texts(), "50%") == 2);
}

TEST_CASE("a class without images is grey, and divides nothing by nothing") {
  ConfusionFigure figure = figure_of(3);
  figure.counts[4] = 0;
  const Image image = confusion_matrix_figure(figure).render(1);
  const Extremes grey = find_color(image, kGrid, 0, -1, 0);
  CHECK(grey.right - grey.left > 200);
  CHECK(grey.bottom - grey.top < 100);
}

TEST_CASE("from two classes to hundreds") {
  double width = 0;
  for (const std::size_t classes : {2UL, 10UL, 20UL, 30UL, 100UL, 400UL}) {
    CAPTURE(classes);
    const Drawing drawing = confusion_matrix_figure(figure_of(classes));
    CHECK(drawing.width() > width - 10);
    CHECK(drawing.width() < 1700);
    width = drawing.width();
    CHECK(has_text(drawing, "class 0"));
    CHECK(has_text(drawing, "class 1") == (classes <= 150));
    CHECK(has_text(drawing, "7") == (classes <= 40));
  }
}

TEST_CASE("names of any length leave the matrix its place") {
  ConfusionFigure figure = figure_of(3);
  figure.classes[1] = std::string(200, 'w');
  const Drawing drawing = confusion_matrix_figure(figure);
  CHECK(drawing.width() < 600);
  CHECK(find_color(drawing.render(1), kAll, 0, -1, 2).right < drawing.width());
}

TEST_CASE("a confusion matrix with a wrong number of counts is refused") {
  CHECK_THROWS_WITH_AS(
      (void)confusion_matrix_figure({}), doctest::Contains("of 0 classes"), UsageError);
  ConfusionFigure figure = figure_of(3);
  figure.counts.pop_back();
  CHECK_THROWS_WITH_AS((void)confusion_matrix_figure(figure),
                       doctest::Contains("needs 9 counts, not 8"),
                       UsageError);
}
