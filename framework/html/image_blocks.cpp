#include "framework/core/error.h"
#include "framework/drawing/png.h"
#include "framework/html/blocks.h"
#include "framework/html/escape.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace learn::html {
namespace {

/// Twice the displayed side of an image, for displays of twice the density.
constexpr int kMaxSide = 224;

/// Averages an image that is larger than it is ever displayed.
plot::Image reduced(const plot::Image& image) {
  const int longer = std::max(image.width, image.height);
  if (longer <= kMaxSide) return image;
  const auto side = [&](int extent) {
    return std::max(1.0, std::round(static_cast<double>(extent) * kMaxSide / longer));
  };
  plot::Drawing drawing(side(image.width), side(image.height));
  drawing.image({0, 0, drawing.width(), drawing.height()}, image);
  return drawing.render(1);
}

std::string image_tag(const plot::Image& image,
                      const std::string& attributes,
                      const std::string& alternative) {
  return fmt::format("<img{} width=\"{}\" height=\"{}\" src=\"{}\" alt=\"{}\">",
                     attributes,
                     image.width,
                     image.height,
                     png_url(encode_png(image.width, image.height, image.rgb)),
                     escaped(alternative));
}

const char* class_of(const plot::CaptionLine& line) {
  if (line.color == plot::kRight) return " class=\"right\"";
  if (line.color == plot::kWrong) return " class=\"wrong\"";
  return line.color == plot::kSoftInk ? " class=\"soft\"" : "";
}

std::string gallery_cell(const plot::GridCell& cell) {
  std::string alternative;
  std::string caption;
  for (const plot::CaptionLine& line : cell.caption) {
    alternative += (alternative.empty() ? "" : ", ") + line.text;
    caption += fmt::format("<span{}>{}</span>", class_of(line), escaped(line.text));
  }
  if (!cell.source.empty()) {
    const std::size_t name = cell.source.find_last_of('/') + 1;
    caption +=
        fmt::format("<span class=\"source\" title=\"{}\"><span>{}</span><span>{}</span></span>",
                    escaped(cell.source),
                    escaped(cell.source.substr(0, name)),
                    escaped(cell.source.substr(name)));
  }
  std::string html = "<figure><div>";
  for (const plot::Image& image : cell.images) html += image_tag(reduced(image), "", alternative);
  return html + "</div><figcaption>" + caption + "</figcaption></figure>\n";
}

/// A table of more classes is unreadable, and megabytes in size.
constexpr std::size_t kMaxClasses = 40;

std::string matrix_image(const plot::ConfusionFigure& figure) {
  return "<div class=\"scroll\" tabindex=\"0\">" +
         image_tag(plot::confusion_matrix_figure(figure).render(1),
                   " class=\"drawing\"",
                   "confusion matrix of " + figure.title) +
         "</div>\n";
}

/// Returns "cat taken for dog: 12 of 100 (12 %)".
std::string cell_title(const plot::ConfusionFigure& figure,
                       std::size_t truth,
                       std::size_t guess,
                       std::int64_t seen) {
  const std::int64_t count = figure.counts[truth * figure.classes.size() + guess];
  return fmt::format(
      "{} taken for {}: {} of {}{}",
      figure.classes[truth],
      figure.classes[guess],
      count,
      seen,
      seen == 0 ? ""
                : fmt::format(" ({:.1f} %)",
                              100.0 * static_cast<double>(count) / static_cast<double>(seen)));
}

/// Shares from which black text is more readable than white on a cell's colour. In dark mode black
/// is more readable above `kStrongRight` or `kStrongWrong`, where the colour's relative luminance
/// passes 0.18. In light mode white is more readable on right cells above `kWhole`. The contrast is
/// at least 4.5 in each case (WCAG 2.2, 1.4.3).
constexpr double kStrongRight = 0.66;
constexpr double kStrongWrong = 0.63;
constexpr double kWhole = 0.93;

std::string matrix_row(const plot::ConfusionFigure& figure, std::size_t truth) {
  const std::size_t classes = figure.classes.size();
  const auto row = std::span(figure.counts).subspan(truth * classes, classes);
  std::int64_t seen = 0;
  for (const std::int64_t count : row) seen += count;
  if (!figure.seen.empty()) seen = figure.seen[truth];
  std::string html =
      fmt::format("<tr><th scope=\"row\" title=\"{0}\">{0}</th>", escaped(figure.classes[truth]));
  for (std::size_t guess = 0; guess < classes; ++guess) {
    const double share =
        seen == 0 ? 0 : static_cast<double>(row[guess]) / static_cast<double>(seen);
    html += fmt::format("<td class=\"{}{}\" style=\"--share:{:.0f}%\" title=\"{}\">{}</td>",
                        guess == truth ? "right" : "wrong",
                        share > kWhole                                           ? " strong whole"
                        : share > (guess == truth ? kStrongRight : kStrongWrong) ? " strong"
                                                                                 : "",
                        100 * share,
                        escaped(cell_title(figure, truth, guess, seen)),
                        row[guess] == 0 ? "" : fmt::format("{}", row[guess]));
  }
  return html + "</tr>\n";
}

}  // namespace

std::string html_of(const plot::ImageGrid& grid) {
  std::string html = fmt::format("<p class=\"soft\">{}{}{}</p>\n<div class=\"gallery\">\n",
                                 escaped(grid.title),
                                 grid.title.empty() || grid.subtitle.empty() ? "" : ": ",
                                 escaped(grid.subtitle));
  for (const plot::GridCell& cell : grid.cells) html += gallery_cell(cell);
  return html + "</div>\n";
}

std::string html_of(const plot::ConfusionFigure& figure) {
  const std::size_t classes = figure.classes.size();
  if (classes > kMaxClasses) return matrix_image(figure);
  check<UsageError>(figure.counts.size() == classes * classes &&
                        (figure.seen.empty() || figure.seen.size() == classes),
                    "a confusion matrix of {} classes with {} counts and the numbers of {} classes",
                    classes,
                    figure.counts.size(),
                    figure.seen.size());
  std::string html =
      "<p class=\"soft\">a row for each true class, a column for each predicted one; the colour is "
      "the share of the row's images</p>\n<div class=\"scroll\" tabindex=\"0\"><table "
      "class=\"matrix\">\n<thead><tr><td></td>";
  for (const std::string& name : figure.classes)
    html += fmt::format("<th scope=\"col\" title=\"{0}\"><span>{0}</span></th>", escaped(name));
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t truth = 0; truth < classes; ++truth) html += matrix_row(figure, truth);
  return html + "</tbody>\n</table></div>\n";
}

}  // namespace learn::html
