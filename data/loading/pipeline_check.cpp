#include "data/loading/augmentation.h"
#include "data/loading/image_step.h"
#include "data/loading/pipeline.h"
#include "framework/core/error.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace learn::data {
namespace {

bool changes_colours(const AugmentPlan::Step& step) {
  using Kind = AugmentPlan::Step::Kind;
  return step.change == image::Change::Kind::gray || step.kind == Kind::jitter ||
         step.kind == Kind::randaugment || step.kind == Kind::trivial || step.kind == Kind::augmix;
}

}  // namespace

Pipeline::Pipeline(std::vector<Transform> transforms,
                   const Normalization& normalization,
                   const SampleForm& form)
    : transforms_(std::move(transforms)),
      normalization_(for_channels(normalization, form.channels)),
      form_(form),
      out_height_(form.is_image() ? form.height : 1),
      out_width_(form.is_image() ? form.width : 1) {
  check_transforms();
  if (!form.floats) make_tables();
}

Shape Pipeline::out_shape() const {
  return form_.is_image() ? Shape{out_height_, out_width_, form_.channels} : form_.shape();
}

void Pipeline::check_place(std::size_t step) const {
  const Transform& transform = transforms_[step];
  const auto is = [&]<class... T>() { return (std::holds_alternative<T>(transform) || ...); };
  const bool on_images = is.operator()<ImageTransform>();
  const bool on_bytes = is.operator()<PixelTransform>() || image_step(transform).has_value();
  const bool on_values = is.operator()<ValueTransform>();
  if (!form_.is_image() && !on_values)
    fail<UsageError>("transform {} of the list is for images, but the samples are {} numbers",
                     step,
                     form_.channels);
  if (form_.floats && (on_images || on_bytes))
    fail<UsageError>(
        "transform {} of the list is for bytes, but the samples are floats: use a ValueTransform",
        step);
  if (on_images && step != image_steps_)
    fail<UsageError>(
        "transform {} of the list changes whole images: it must come before transforms of other "
        "kinds",
        step);
  if (!on_values && !is.operator()<Cutout, Erase>() && changes_values_)
    fail<UsageError>(
        "transform {} of the list changes pixels: it must come before transforms of values", step);
}

void Pipeline::crop_to(std::int64_t size) {
  const std::int64_t rows = size == 0 ? form_.height : size;
  const std::int64_t columns = size == 0 ? form_.width : size;
  if (rows > out_height_ || columns > out_width_)
    fail<UsageError>(
        "cannot crop {}x{} from an image of {}x{}", columns, rows, out_width_, out_height_);
  out_height_ = rows;
  out_width_ = columns;
}

void Pipeline::add_image_step(AugmentPlan::Step step, std::size_t number) {
  using Kind = AugmentPlan::Step::Kind;
  if (changes_colours(step) && form_.channels != 1 && form_.channels != 3)
    fail<UsageError>("transform {} of the list is for images of 1 or 3 channels, not {}",
                     number,
                     form_.channels);
  if (step.change == image::Change::Kind::blur &&
      (step.count % 2 == 0 || step.count / 2 >= std::min(out_height_, out_width_)))
    fail<UsageError>(
        "blur: a window of {} pixels for an image of {}x{}; it must be odd and reach "
        "less than the whole image to each side",
        step.count,
        out_width_,
        out_height_);
  step.number = static_cast<std::int32_t>(number);
  step.height = static_cast<std::int32_t>(out_height_);
  step.width = static_cast<std::int32_t>(out_width_);
  if (step.kind == Kind::resized_crop) {
    out_height_ = form_.height;
    out_width_ = form_.width;
  }
  step.out_height = static_cast<std::int32_t>(out_height_);
  step.out_width = static_cast<std::int32_t>(out_width_);
  if (step.kind == Kind::resized_crop && number == image_steps_) {
    whole_crop_ = step;
    return;
  }
  memory_.add(step, form_.channels);
  pixel_steps_.push_back({number, step});
}

void Pipeline::check_transforms() {
  constexpr std::size_t kMaxSteps = 4096;  // limited by the bits in AugmentDraw
  if (transforms_.size() > kMaxSteps)
    fail<UsageError>("{} transforms, at most {} are possible", transforms_.size(), kMaxSteps);
  const AugmentationRegistry registry = augmentation_registry();
  for (std::size_t step = 0; step < transforms_.size(); ++step) {
    const Transform& transform = transforms_[step];
    check_place(step);
    // The ranges of numbers are the text's, which the options of the registry check.
    if (const auto spec = spec_of(transform)) (void)registry.make(*spec);
    if (const auto* pad = std::get_if<Pad>(&transform)) {
      const std::int64_t least = std::min(out_height_, out_width_);
      if (pad->mode == PadMode::reflect && pad->pixels >= least)
        fail<UsageError>("pad: cannot pad an image of {1}x{2} by {0} pixels",
                         pad->pixels,
                         out_width_,
                         out_height_);
      out_height_ += 2 * pad->pixels;
      out_width_ += 2 * pad->pixels;
    } else if (const auto* random = std::get_if<RandomCrop>(&transform)) {
      crop_to(random->size);
    } else if (const auto* center = std::get_if<CenterCrop>(&transform)) {
      crop_to(center->size);
    } else if (const auto* pixels = std::get_if<PixelTransform>(&transform)) {
      if (!pixels->apply) fail<UsageError>("a pixel transform needs a function");
      memory_.hold(out_height_, out_width_, form_.channels);
      pixel_steps_.push_back({step, std::nullopt});
    } else if (const auto* whole = std::get_if<ImageTransform>(&transform)) {
      if (!whole->apply) fail<UsageError>("an image transform needs a function");
      ++image_steps_;
    } else if (const auto* values = std::get_if<ValueTransform>(&transform)) {
      if (!values->apply) fail<UsageError>("a value transform needs a function");
      changes_values_ = true;
      value_steps_.push_back({step, std::nullopt});
    } else if (const auto image = image_step(transform)) {
      add_image_step(*image, step);
    }
    for (const AugmentPlan::Hole& hole : holes_of(transform, step))
      value_steps_.push_back({step, hole});
  }
}

void Pipeline::make_tables() {
  const auto channels = static_cast<std::size_t>(form_.channels);
  f32_.resize(channels);
  f16_.resize(channels);
  bf16_.resize(channels);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t v = 0; v < 256; ++v) {
      const float value =
          (static_cast<float>(v) / 255.0F - normalization_.mean[c]) / normalization_.std[c];
      f32_[c][v] = value;
      f16_[c][v] = to_half(value);
      bf16_[c][v] = to_bfloat16(value);
    }
}

}  // namespace learn::data
