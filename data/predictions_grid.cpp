#include "data/predictions_grid.h"

#include "data/dataset_image.h"
#include "framework/core/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace learn::data {
namespace {

const std::string& class_name(const Dataset& dataset, std::int64_t which) {
  check<UsageError>(which >= 0 && which < static_cast<std::int64_t>(dataset.classes.size()),
                    "'{}' has {} classes, there is no class {}",
                    dataset.name,
                    dataset.classes.size(),
                    which);
  return dataset.classes[static_cast<std::size_t>(which)];
}

/// " 97 %"; what is neither nothing nor all never looks so. Empty if it is not known.
std::string percent(double probability) {
  if (std::isnan(probability)) return "";
  if (probability > 0 && probability < 0.001) return " <0.1 %";
  const bool detailed = probability < 0.1 || (probability > 0.99 && probability < 1);
  if (probability < 1 && probability > 0.999) return " >99.9 %";
  return fmt::format(" {:.{}f} %", 100 * probability, detailed ? 1 : 0);
}

plot::CaptionLine prediction_line(const Dataset& dataset, const JudgedImage& one) {
  if (one.predicted == -1) return {"NaN", plot::kWrong, true};
  const bool right = one.predicted == dataset.labels[static_cast<std::size_t>(one.index)];
  return {class_name(dataset, one.predicted) + percent(one.probability),
          right ? plot::kRight : plot::kWrong,
          true};
}

plot::GridCell cell_of(const Dataset& dataset, const JudgedImage& one) {
  return {.images = {image_of(dataset, one.index)}, .caption = {}};
}

const std::string& truth_of(const Dataset& dataset, const JudgedImage& one) {
  return class_name(dataset, dataset.labels[static_cast<std::size_t>(one.index)]);
}

}  // namespace

plot::ImageGrid predictions_grid(const Dataset& dataset,
                                 std::span<const JudgedImage> judged,
                                 std::string title) {
  plot::ImageGrid grid{
      .title = std::move(title),
      .subtitle = "true class; predicted class and its probability, blue if right"};
  for (const JudgedImage& one : judged) {
    plot::GridCell cell = cell_of(dataset, one);
    cell.caption = {{truth_of(dataset, one)}, prediction_line(dataset, one)};
    grid.cells.push_back(std::move(cell));
  }
  return grid;
}

plot::ImageGrid top_losses_grid(const Dataset& dataset,
                                std::span<const JudgedImage> judged,
                                std::size_t count,
                                std::string title) {
  plot::ImageGrid grid{
      .title = std::move(title),
      .subtitle = "predicted class and its probability, blue if right; true class and its; loss"};
  std::vector<std::size_t> order(judged.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const double first = judged[a].loss, second = judged[b].loss;
    return std::isnan(first) ? !std::isnan(second) : first > second;
  });
  for (const std::size_t i : std::span(order).first(std::min(count, order.size()))) {
    const JudgedImage& one = judged[i];
    plot::GridCell cell = cell_of(dataset, one);
    cell.caption = {
        prediction_line(dataset, one),
        {"is " + truth_of(dataset, one) + percent(one.truth_probability)},
        {std::isnan(one.loss) ? "loss NaN" : fmt::format("loss {:.3g}", one.loss), plot::kSoftInk}};
    grid.cells.push_back(std::move(cell));
  }
  return grid;
}

}  // namespace learn::data
