#include "data/show/predictions_grid.h"

#include "data/show/dataset_image.h"
#include "data/show/prediction_caption.h"
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

/// Borrows both.
JudgedTargets judged_targets(const Dataset& dataset, const JudgedImage& one, double threshold) {
  check<UsageError>(one.outputs.size() == dataset.classes.size(),
                    "'{}' has {} {}, but the model made {} outputs for image {}",
                    dataset.name,
                    dataset.classes.size(),
                    dataset.target_kind == TargetKind::classes ? "classes" : "targets each",
                    one.outputs.size(),
                    one.index);
  JudgedTargets judged{.kind = dataset.target_kind,
                       .names = dataset.classes,
                       .outputs = one.outputs,
                       .threshold = threshold};
  if (dataset.target_kind == TargetKind::classes)
    judged.truth = dataset.labels[static_cast<std::size_t>(one.index)];
  else
    judged.targets = dataset.targets_of(one.index);
  return judged;
}

plot::GridCell cell_of(const Dataset& dataset, const JudgedImage& one) {
  return {.images = {image_of(dataset, one.index)}, .caption = {}};
}

/// Adds a line unless it is empty.
void add_line(plot::GridCell& cell, plot::CaptionLine line) {
  if (!line.text.empty()) cell.caption.push_back(std::move(line));
}

void add_lines(plot::GridCell& cell, const std::vector<plot::CaptionLine>& lines) {
  cell.caption.insert(cell.caption.end(), lines.begin(), lines.end());
}

std::string legend(const std::vector<std::string>& parts) {
  std::vector<std::string> said;
  for (const std::string& part : parts)
    if (!part.empty()) said.push_back(part);
  return join(said, "; ");
}

/// Returns image `i` of (N,H,W,C), black at 0 and white at 1.
plot::Image image_at(const Tensor& images, std::int64_t i) {
  const Shape& shape = images.shape();
  return drawn_image(shape[1], shape[2], shape[3], images.rows(i, 1).span<float>());
}

/// Returns the targets of a batch that have names, on the host.
Tensor truths_of(Context& ctx, const Batch& batch, TargetKind kind) {
  if (!batch.y.defined()) return {};
  const bool fits =
      kind == TargetKind::classes ? batch.y.dtype() == DType::i64 : batch.y.dtype() == DType::f32;
  return fits ? to_host(ctx, batch.y) : Tensor();
}

}  // namespace

plot::ImageGrid predictions_grid(const Dataset& dataset,
                                 std::span<const JudgedImage> judged,
                                 std::string title,
                                 double threshold) {
  const TargetKind kind = dataset.target_kind;
  plot::ImageGrid grid{.title = std::move(title),
                       .subtitle = legend({truth_legend(kind), prediction_legend(kind, true)})};
  for (const JudgedImage& one : judged) {
    plot::GridCell cell = cell_of(dataset, one);
    const JudgedTargets targets = judged_targets(dataset, one, threshold);
    add_line(cell, {truth_text(targets)});
    add_lines(cell, prediction_lines(targets));
    grid.cells.push_back(std::move(cell));
  }
  return grid;
}

plot::ImageGrid top_losses_grid(const Dataset& dataset,
                                std::span<const JudgedImage> judged,
                                std::size_t count,
                                std::string title,
                                double threshold) {
  const TargetKind kind = dataset.target_kind;
  const std::string truth = truth_legend(kind);
  plot::ImageGrid grid{.title = std::move(title),
                       .subtitle = legend({prediction_legend(kind, true),
                                           kind == TargetKind::classes ? truth + " and its" : truth,
                                           "loss"})};
  std::vector<std::size_t> order(judged.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const double first = judged[a].loss, second = judged[b].loss;
    return std::isnan(first) ? !std::isnan(second) : first > second;
  });
  for (const std::size_t i : std::span(order).first(std::min(count, order.size()))) {
    const JudgedImage& one = judged[i];
    plot::GridCell cell = cell_of(dataset, one);
    const JudgedTargets targets = judged_targets(dataset, one, threshold);
    add_lines(cell, prediction_lines(targets));
    if (kind != TargetKind::values) add_line(cell, {"is " + truth_with_probability(targets)});
    add_line(
        cell,
        {std::isnan(one.loss) ? "loss NaN" : fmt::format("loss {:.3g}", one.loss), plot::kSoftInk});
    cell.source = dataset.files.empty() ? fmt::format("image {}", one.index)
                                        : dataset.files[static_cast<std::size_t>(one.index)];
    grid.cells.push_back(std::move(cell));
  }
  return grid;
}

plot::ImageGrid batch_grid(Context& ctx,
                           const Batch& batch,
                           const Tensor& outputs,
                           const std::vector<std::string>& classes,
                           const Normalization& normalization,
                           std::string title,
                           TargetKind kind) {
  const Tensor images = denormalize(ctx, batch, normalization);
  const Tensor truths = truths_of(ctx, batch, kind);
  const auto many = static_cast<std::int64_t>(classes.size());
  if (outputs.shape() != Shape{batch.size(), many})
    fail<ShapeError>("batch_grid: outputs are {} for {} images of {} classes",
                     outputs.shape(),
                     batch.size(),
                     many);
  plot::ImageGrid grid{.title = std::move(title),
                       .subtitle = legend({truths.defined() ? truth_legend(kind) : "",
                                           prediction_legend(kind, truths.defined())})};
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    plot::GridCell cell{.images = {image_at(images, i)}, .caption = {}};
    const std::vector<double> said = interpret(kind, outputs.rows(i, 1).span<float>());
    JudgedTargets targets{.kind = kind, .names = classes, .outputs = said};
    if (truths.defined() && kind == TargetKind::classes) {
      targets.truth = truths.span<std::int64_t>()[static_cast<std::size_t>(i)];
      check<UsageError>(targets.truth >= 0 && targets.truth < many,
                        "batch_grid: class {1} does not exist; there are {0} classes",
                        many,
                        targets.truth);
    } else if (truths.defined()) {
      targets.targets = truths.rows(i, 1).span<float>();
    }
    add_line(cell, {truth_text(targets)});
    add_lines(cell, prediction_lines(targets));
    grid.cells.push_back(std::move(cell));
  }
  return grid;
}

}  // namespace learn::data
