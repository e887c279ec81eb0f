#include "data/show_batch.h"

#include "data/dataset_image.h"
#include "data/epoch_order.h"
#include "framework/core/error.h"

#include <algorithm>
#include <cmath>

namespace learn::data {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::string with_size(const char* name, std::int64_t size) {
  return size == 0 ? name : fmt::format("{} {}", name, size);
}

std::string describe_one(const Transform& transform) {
  return std::visit(
      Overloaded{[](const FlipLr& t) {
                   return t.p == 0.5F ? std::string("flip left-right")
                                      : fmt::format("flip left-right ({})", t.p);
                 },
                 [](const Pad& t) {
                   return fmt::format(
                       "pad {} ({})", t.pixels, t.mode == PadMode::reflect ? "reflected" : "black");
                 },
                 [](const RandomCrop& t) { return with_size("random crop", t.size); },
                 [](const CenterCrop& t) { return with_size("centre crop", t.size); },
                 [](const Cutout& t) {
                   return fmt::format("cutout {}{}",
                                      t.length,
                                      t.holes == 1 ? "" : fmt::format(" ({} holes)", t.holes));
                 },
                 [](const PixelTransform&) { return std::string("a function of one's own"); }},
      transform);
}

/// Images as a loader makes them.
class Augmented {
 public:
  explicit Augmented(const Loader& loader)
      : loader_(loader),
        pipeline_(loader.options().transforms,
                  loader.options().normalization,
                  loader.dataset().height,
                  loader.dataset().width),
        values_(static_cast<std::size_t>(pipeline_.out_height() * pipeline_.out_width() * 3)) {}

  [[nodiscard]] plot::Image operator()(std::int64_t sample, std::int64_t epoch) {
    const LoaderOptions& options = loader_.options();
    pipeline_.run(loader_.dataset().image(sample),
                  options.seed,
                  static_cast<std::uint64_t>(epoch),
                  static_cast<std::uint64_t>(sample),
                  values_.data(),
                  scratch_);
    plot::Image image{
        static_cast<int>(pipeline_.out_width()), static_cast<int>(pipeline_.out_height()), {}};
    image.rgb.reserve(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const float value =
          values_[i] * options.normalization.std[i % 3] + options.normalization.mean[i % 3];
      image.rgb.push_back(
          static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0F, 1.0F))));
    }
    return image;
  }

 private:
  const Loader& loader_;
  Pipeline pipeline_;
  Pipeline::Scratch scratch_;
  std::vector<float> values_;
};

/// Its class, its labels, or its first values.
std::string caption_of(const Dataset& dataset, std::int64_t sample) {
  if (dataset.target_kind == TargetKind::classes)
    return dataset
        .classes[static_cast<std::size_t>(dataset.labels[static_cast<std::size_t>(sample)])];
  constexpr std::size_t kShown = 3;
  const bool values = dataset.target_kind == TargetKind::values;
  const auto targets = dataset.targets_of(sample);
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < targets.size(); ++k)
    if (values)
      texts.push_back(fmt::format("{} {:.4g}", dataset.classes[k], targets[k]));
    else if (targets[k] == 1)
      texts.push_back(dataset.classes[k]);
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
  for (const Transform& transform : transforms)
    text += (text.empty() ? "" : ", ") + describe_one(transform);
  return text;
}

plot::ImageGrid show_batch(const Loader& loader, const ShowBatchOptions& options) {
  check<UsageError>(options.images >= 1 && options.versions >= 1 && options.epoch >= 0,
                    "show_batch: {} images, {} versions, from epoch {}: there is nothing to show",
                    options.images,
                    options.versions,
                    options.epoch);
  const Dataset& dataset = loader.dataset();
  const LoaderOptions& how = loader.options();
  std::vector<std::int64_t> order(static_cast<std::size_t>(dataset.size()));
  set_epoch_order(order, how.shuffle, how.seed, options.epoch);
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
  const std::int64_t count = std::min({options.images, loader.samples(), dataset.size()});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = how.shuffle ? i : i * dataset.size() / count;
    const std::int64_t sample = order[static_cast<std::size_t>(place)];
    plot::GridCell cell;
    cell.images.push_back(image_of(dataset, sample));
    for (std::int64_t v = 0; augments && v < options.versions; ++v)
      cell.images.push_back(augmented(sample, options.epoch + v));
    cell.caption.push_back({caption_of(dataset, sample)});
    grid.cells.push_back(std::move(cell));
  }
  return grid;
}

}  // namespace learn::data
