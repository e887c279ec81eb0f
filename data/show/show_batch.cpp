#include "data/show/show_batch.h"

#include "data/loading/augmentation.h"
#include "data/loading/prepare_sample.h"
#include "data/loading/sampling.h"
#include "data/show/dataset_image.h"
#include "framework/core/error.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace learn::data {
namespace {

/// Images as a loader makes them.
class Augmented {
 public:
  explicit Augmented(const Loader& loader)
      : loader_(loader),
        pipeline_(
            loader.options().transforms, loader.options().normalization, loader.dataset().form()),
        normalization_(for_channels(loader.options().normalization, loader.dataset().channels)),
        range_(black_and_white(loader.dataset())),
        values_(static_cast<std::size_t>(pipeline_.out_shape().elements())) {}

  [[nodiscard]] plot::Image operator()(std::int64_t sample, std::int64_t draw, std::int64_t epoch) {
    prepare_sample(pipeline_,
                   loader_.dataset(),
                   sample,
                   {.seed = loader_.options().seed,
                    .epoch = static_cast<std::uint64_t>(epoch),
                    .number = static_cast<std::uint64_t>(draw)},
                   values_.data(),
                   scratch_);
    const auto channels = static_cast<std::size_t>(loader_.dataset().channels);
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] =
          values_[i] * normalization_.std[i % channels] + normalization_.mean[i % channels];
    return drawn_image(pipeline_.out_height(),
                       pipeline_.out_width(),
                       loader_.dataset().channels,
                       std::span<const float>(values_),
                       range_.first,
                       range_.second);
  }

 private:
  const Loader& loader_;
  Pipeline pipeline_;
  Normalization normalization_;
  std::pair<float, float> range_;
  SampleScratch scratch_;
  std::vector<float> values_;
};

/// Returns the sample's class, labels, or first values.
std::string caption_of(const Dataset& dataset, std::int64_t sample) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> texts = labels_of(dataset, sample);
  if (dataset.target_kind == TargetKind::values) {
    const auto values = dataset.targets_of(sample);
    for (std::size_t k = 0; k < values.size(); ++k)
      texts.push_back(fmt::format("{} {:.4g}", dataset.classes[k], values[k]));
  }
  if (texts.empty()) return "no label";
  const bool more = texts.size() > kShown;
  if (more) texts.resize(kShown);
  return join(texts) + (more ? ", ..." : "");
}

std::string epochs_text(const ShowBatchOptions& options) {
  const std::int64_t first = options.epoch + 1;
  if (options.versions == 1) return fmt::format("in epoch {}", first);
  return fmt::format("in epochs {} to {}", first, first + options.versions - 1);
}

}  // namespace

std::string describe(const std::vector<Transform>& transforms) {
  std::string text;
  for (const Transform& transform : transforms) {
    const std::optional<Spec> spec = spec_of(transform);
    text += (text.empty() ? "" : "|") + (spec ? spec->text() : std::string("a custom function"));
  }
  return text;
}

plot::ImageGrid show_batch(const Loader& loader, const ShowBatchOptions& options) {
  check<UsageError>(options.images >= 1 && options.versions >= 1 && options.epoch >= 0,
                    "show_batch: {} images, {} versions, from epoch {}: nothing to show",
                    options.images,
                    options.versions,
                    options.epoch);
  const Dataset& dataset = loader.dataset();
  const LoaderOptions& how = loader.options();
  const PassOrder order(dataset, how.sampling, how.shuffle, how.seed);
  const std::vector<std::int64_t> draws = order.draws(options.epoch);
  const bool ordered = !how.shuffle && std::holds_alternative<std::monostate>(how.sampling);
  const bool augments = !how.transforms.empty();
  plot::ImageGrid grid{
      .title = fmt::format("{}: {} images",
                           title_of(dataset),
                           dataset.split == Split::train ? "training" : "validation"),
      .subtitle =
          augments ? fmt::format(
                         "as they are, and {}: {}", epochs_text(options), describe(how.transforms))
                   : "not augmented"};
  Augmented augmented(loader);
  const std::int64_t count = std::min({options.images, loader.samples(), order.size()});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = ordered ? i * dataset.size() / count : i;
    const std::int64_t draw = draws[static_cast<std::size_t>(place)];
    const std::int64_t sample = order.sample_of(draw);
    plot::GridCell cell;
    cell.images.push_back(image_of(dataset, sample));
    for (std::int64_t v = 0; augments && v < options.versions; ++v)
      cell.images.push_back(augmented(sample, draw, options.epoch + v));
    cell.caption.push_back({caption_of(dataset, sample)});
    grid.cells.push_back(std::move(cell));
  }
  return grid;
}

}  // namespace learn::data
