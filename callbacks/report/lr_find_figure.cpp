#include "callbacks/report/lr_find_figure.h"

#include <fmt/format.h>

namespace learn::callbacks {
namespace {

constexpr std::size_t kLeftOut = 5;

/// Returns the smoothed loss of the first update at that rate or above.
double loss_at(const LrFindResult& found, double lr) {
  std::size_t i = 0;
  while (i + 1 < found.lrs.size() && found.lrs[i] < lr) ++i;
  return found.smoothed[i];
}

}  // namespace

plot::Figure lr_find_figure(const LrFindResult& found) {
  const std::size_t count = found.lrs.size();
  const auto shown = static_cast<std::ptrdiff_t>(count > kLeftOut ? count - kLeftOut : count);
  const auto first = [&](const std::vector<double>& all) {
    return std::vector<double>(all.begin(), all.begin() + shown);
  };
  plot::Panel panel{.title = "loss by learning rate",
                    .x_label = "learning rate",
                    .series = {{.name = "loss",
                                .x = first(found.lrs),
                                .y = first(found.losses),
                                .faint = true,
                                .color = 0},
                               {.name = "smoothed",
                                .x = first(found.lrs),
                                .y = first(found.smoothed),
                                .color = 0}},
                    .log_x = true,
                    .y_label = "loss"};
  for (const auto& [name, lr] : found.suggestions.named())
    if (lr)
      panel.series.push_back({.name = fmt::format("{} {:.2g}", name, *lr),
                              .x = {*lr},
                              .y = {loss_at(found, *lr)},
                              .markers = true});
  return {.title = "learning rate finder", .panels = {std::move(panel)}};
}

}  // namespace learn::callbacks
