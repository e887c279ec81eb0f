#include "framework/core/printable.h"
#include "framework/html/blocks.h"
#include "framework/html/escape.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>

namespace learn::html {
namespace {

using Json = nlohmann::ordered_json;

/// Rounds to six digits, more than a screen shows. Returns null for NaN and infinity, which JSON
/// lacks.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  constexpr int kDigits = 6;
  std::array<char, 32> text{};
  const auto end = std::to_chars(
      text.data(), text.data() + text.size(), value, std::chars_format::general, kDigits);
  double rounded = 0;
  std::from_chars(text.data(), end.ptr, rounded);
  return rounded;
}

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(number(value));
  return out;
}

Json series_of(const plot::Series& series, std::size_t color) {
  return {{"name", printable(series.name)},
          {"x", numbers(series.x)},
          {"y", numbers(series.y)},
          {"color", color},
          {"markers", series.markers},
          {"faint", series.faint},
          {"dashed", series.dashed}};
}

std::string chart(const plot::Panel& panel) {
  Json series = Json::array();
  const std::vector<std::size_t> colors = plot::colors_of(panel);
  for (std::size_t i = 0; i < panel.series.size(); ++i)
    series.push_back(series_of(panel.series[i], colors[i]));
  const Json data{{"x_label", printable(panel.x_label)},
                  {"y_label", printable(panel.y_label)},
                  {"integer_x", panel.integer_x},
                  {"log_x", panel.log_x},
                  {"log_y", panel.log_y},
                  {"may_change", !panel.fixed_scale},
                  {"series", series}};
  return fmt::format(
      "<figure class=\"chart\"><figcaption>{}</figcaption>\n<div class=\"legend\"></div>\n"
      "<div class=\"plot\"></div>\n<script type=\"application/json\">{}</script></figure>\n",
      escaped(panel.title),
      script_safe(data.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

}  // namespace

std::string html_of(const plot::Figure& figure) {
  std::string html =
      "<noscript><p class=\"warning\">The curves are drawn by JavaScript, which is switched off "
      "here.</p></noscript>\n<div class=\"charts\">\n";
  for (const plot::Panel& panel : figure.panels) html += chart(panel);
  return html + "</div>\n";
}

}  // namespace learn::html
