#include "data/loading/transforms.h"

#include "framework/core/error.h"
#include "framework/core/options/suggest.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace learn::data {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

template <class T>
constexpr bool kMovesPixels =
    std::is_same_v<T, FlipLr> || std::is_same_v<T, Pad> || std::is_same_v<T, RandomCrop> ||
    std::is_same_v<T, CenterCrop> || std::is_same_v<T, PixelTransform>;

}  // namespace

std::vector<Transform> augmentation(std::string_view name,
                                    std::int64_t height,
                                    std::int64_t width) {
  const std::int64_t side = std::min(height, width);
  require_known("augmentation", name, augmentation_names());
  if (name == "none") return {};
  std::vector<Transform> basic{Pad{side / 8}, RandomCrop{}, FlipLr{}};
  if (name == "basic") return basic;
  return compose(std::move(basic), Cutout{.length = std::max<std::int64_t>(1, side / 4)});
}

const std::vector<std::string>& augmentation_names() {
  static const std::vector<std::string> names{"none", "basic", "full"};
  return names;
}

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
  std::visit(
      [&]<class T>(const T&) {
        constexpr bool kImage = std::is_same_v<T, ImageTransform>;
        constexpr bool kValue = std::is_same_v<T, ValueTransform>;
        if (!form_.is_image() && !kValue)
          fail<UsageError>("transform {} of the list is for images, but the samples are {} numbers",
                           step,
                           form_.channels);
        if (form_.floats && (kImage || std::is_same_v<T, PixelTransform>))
          fail<UsageError>(
              "transform {} of the list is for bytes, but the samples are floats: use a "
              "ValueTransform",
              step);
        if (kImage && step != image_steps_)
          fail<UsageError>(
              "transform {} of the list changes whole images: it must come before transforms of "
              "other kinds",
              step);
        if (kMovesPixels<T> && changes_values_)
          fail<UsageError>(
              "transform {} of the list changes pixels: it must come before transforms of values",
              step);
      },
      transforms_[step]);
}

void Pipeline::check_transforms() {
  constexpr std::size_t kMaxSteps = 4096;  // limited by the bits in Draw
  constexpr std::int64_t kMaxHoles = 4096;
  if (transforms_.size() > kMaxSteps)
    fail<UsageError>("{} transforms, at most {} are possible", transforms_.size(), kMaxSteps);
  const auto crop = [&](std::int64_t size) {
    const std::int64_t rows = size == 0 ? form_.height : size;
    const std::int64_t columns = size == 0 ? form_.width : size;
    if (size < 0 || rows > out_height_ || columns > out_width_)
      fail<UsageError>(
          "cannot crop {}x{} from an image of {}x{}", columns, rows, out_width_, out_height_);
    out_height_ = rows;
    out_width_ = columns;
  };
  for (std::size_t step = 0; step < transforms_.size(); ++step) {
    check_place(step);
    std::visit(Overload{[](const FlipLr& t) {
                          if (!(t.p >= 0 && t.p <= 1))
                            fail<UsageError>("flip_lr: probability {} is not in [0, 1]", t.p);
                        },
                        [&](const Pad& t) {
                          const std::int64_t least = std::min(out_height_, out_width_);
                          if (t.pixels < 0 || (t.mode == PadMode::reflect && t.pixels >= least))
                            fail<UsageError>("pad: cannot pad an image of {1}x{2} by {0} pixels",
                                             t.pixels,
                                             out_width_,
                                             out_height_);
                          out_height_ += 2 * t.pixels;
                          out_width_ += 2 * t.pixels;
                        },
                        [&](const RandomCrop& t) { crop(t.size); },
                        [&](const CenterCrop& t) { crop(t.size); },
                        [](const Cutout& t) {
                          if (t.length < 1 || t.holes < 0 || t.holes >= kMaxHoles)
                            fail<UsageError>("cutout: {} holes of length {}", t.holes, t.length);
                        },
                        [&](const PixelTransform& t) {
                          if (!t.apply) fail<UsageError>("a pixel transform needs a function");
                          pixel_steps_.push_back(step);
                        },
                        [&](const ImageTransform& t) {
                          if (!t.apply) fail<UsageError>("an image transform needs a function");
                          ++image_steps_;
                        },
                        [&](const ValueTransform& t) {
                          if (!t.apply) fail<UsageError>("a value transform needs a function");
                          changes_values_ = true;
                        }},
               transforms_[step]);
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
