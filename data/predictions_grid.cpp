#include "data/predictions_grid.h"

#include "data/dataset_image.h"
#include "framework/core/error.h"
#include "framework/evaluation/probabilities.h"
#include "framework/runtime/transfer.h"

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

void require_classes(const Dataset& dataset) {
  if (dataset.target_kind != TargetKind::classes)
    fail<UsageError>("'{}' has no classes that predictions could be compared with", dataset.name);
}

/// " 97 %"; what is neither nothing nor all never looks so. Empty if it is not known.
std::string percent(double probability) {
  if (std::isnan(probability)) return "";
  if (probability > 0 && probability < 0.001) return " <0.1 %";
  const bool detailed = probability < 0.1 || (probability > 0.99 && probability < 1);
  if (probability < 1 && probability > 0.999) return " >99.9 %";
  return fmt::format(" {:.{}f} %", 100 * probability, detailed ? 1 : 0);
}

plot::CaptionLine prediction_line(const std::string& name, double probability, bool right) {
  return {name + percent(probability), right ? plot::kRight : plot::kWrong, true};
}

plot::CaptionLine no_prediction() { return {"NaN", plot::kWrong, true}; }

plot::CaptionLine prediction_line(const Dataset& dataset, const JudgedImage& one) {
  if (one.predicted == -1) return no_prediction();
  const bool right = one.predicted == dataset.labels[static_cast<std::size_t>(one.index)];
  return prediction_line(class_name(dataset, one.predicted), one.probability, right);
}

plot::GridCell cell_of(const Dataset& dataset, const JudgedImage& one) {
  return {.images = {image_of(dataset, one.index)}, .caption = {}};
}

const std::string& truth_of(const Dataset& dataset, const JudgedImage& one) {
  return class_name(dataset, dataset.labels[static_cast<std::size_t>(one.index)]);
}

plot::CaptionLine prediction_line(std::span<const float> logits,
                                  const std::vector<std::string>& classes,
                                  std::int64_t truth) {
  const std::vector<double> shares = softmax(logits);
  if (std::isnan(shares.front())) return no_prediction();
  const auto best = std::ranges::max_element(shares) - shares.begin();
  return prediction_line(classes[static_cast<std::size_t>(best)],
                         shares[static_cast<std::size_t>(best)],
                         truth == -1 || best == truth);
}

/// Image `i` of (N,H,W,C), black at 0 and white at 1.
plot::Image image_at(const Tensor& images, std::int64_t i) {
  const Shape& shape = images.shape();
  return drawn_image(shape[1], shape[2], shape[3], images.rows(i, 1).span<float>());
}

}  // namespace

plot::ImageGrid predictions_grid(const Dataset& dataset,
                                 std::span<const JudgedImage> judged,
                                 std::string title) {
  require_classes(dataset);
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
  require_classes(dataset);
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

plot::ImageGrid batch_grid(Context& ctx,
                           const Batch& batch,
                           const Tensor& logits,
                           const std::vector<std::string>& classes,
                           const Normalization& normalization,
                           std::string title) {
  const Tensor images = denormalise(ctx, batch, normalization);
  const Tensor truths = batch.y.defined() ? to_host(ctx, batch.y) : Tensor();
  const auto many = static_cast<std::int64_t>(classes.size());
  if (logits.shape() != Shape{batch.size(), many})
    fail<ShapeError>("batch_grid: logits are {} for {} images of {} classes",
                     logits.shape(),
                     batch.size(),
                     many);
  plot::ImageGrid grid{
      .title = std::move(title),
      .subtitle = truths.defined()
                      ? "true class; predicted class and its probability, blue if right"
                      : "predicted class and its probability"};
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    plot::GridCell cell{.images = {image_at(images, i)}, .caption = {}};
    std::int64_t truth = -1;
    if (truths.defined()) {
      truth = truths.span<std::int64_t>()[static_cast<std::size_t>(i)];
      check<UsageError>(truth >= 0 && truth < many,
                        "batch_grid: there are {} classes, there is no class {}",
                        many,
                        truth);
      cell.caption.push_back({classes[static_cast<std::size_t>(truth)]});
    }
    cell.caption.push_back(prediction_line(logits.rows(i, 1).span<float>(), classes, truth));
    grid.cells.push_back(std::move(cell));
  }
  return grid;
}

}  // namespace learn::data
