#pragma once
#include "framework/html/page.h"

#include <string>

/// For page.cpp: renders each kind of block as HTML.
namespace learn::html {

[[nodiscard]] std::string html_of(const Heading& heading);
[[nodiscard]] std::string html_of(const Note& note);
[[nodiscard]] std::string html_of(const Facts& facts);
[[nodiscard]] std::string html_of(const Table& table);
[[nodiscard]] std::string html_of(const plot::Figure& figure);
[[nodiscard]] std::string html_of(const plot::ImageGrid& grid);
[[nodiscard]] std::string html_of(const plot::ConfusionFigure& figure);

}  // namespace learn::html
