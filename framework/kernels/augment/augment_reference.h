#pragma once
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/kernels/augment/augment_draw.h"
#include "framework/kernels/augment/augment_kernels.h"
#include "framework/kernels/augment/erased_hole.h"
#include "framework/kernels/augment/image_steps.h"
#include "framework/kernels/augment/work_memory.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

/// Computes each output position by applying the steps one after the other.
namespace learn::reference {

inline constexpr std::int32_t kBlack = -1;  // a position that no source pixel fills

/// The source position of each output row (or column).
class AugmentMap {
 public:
  explicit AugmentMap(std::int32_t extent) : from_(static_cast<std::size_t>(extent)) {
    std::iota(from_.begin(), from_.end(), 0);
  }
  void mirror() { std::reverse(from_.begin(), from_.end()); }
  void pad(std::int32_t pixels, bool reflect) {
    const auto n = static_cast<std::int32_t>(from_.size());
    std::vector<std::int32_t> wider;
    for (std::int32_t o = -pixels; o < n + pixels; ++o) {
      if (o >= 0 && o < n)
        wider.push_back(from_[static_cast<std::size_t>(o)]);
      else if (reflect)
        wider.push_back(from_[static_cast<std::size_t>(o < 0 ? -o : 2 * (n - 1) - o)]);
      else
        wider.push_back(kBlack);
    }
    from_ = wider;
  }
  void crop(std::int32_t size, std::uint32_t word) {
    const auto places = static_cast<std::uint32_t>(from_.size()) - static_cast<std::uint32_t>(size);
    from_.erase(from_.begin(), from_.begin() + uniform_below(word, places + 1));
    from_.resize(static_cast<std::size_t>(size));
  }
  [[nodiscard]] std::int32_t operator[](std::int32_t out) const {
    return from_[static_cast<std::size_t>(out)];
  }

 private:
  std::vector<std::int32_t> from_;
};

/// Returns the pixel at a source position; null if none fills it.
inline const std::uint8_t* image_at(const std::uint8_t* image,
                                    std::int32_t width,
                                    std::int32_t channels,
                                    std::int32_t row,
                                    std::int32_t column) {
  const bool black = row == kBlack || column == kBlack;
  return black ? nullptr : image + (std::int64_t{row} * width + column) * channels;
}

/// Runs a step that changes pixels on the image whose pixels are `pixel_at(row, column)`.
template <class PixelAt>
std::vector<std::uint8_t> change_pixels(const AugmentPlan::Step& step,
                                        const AugmentDraw& draw,
                                        std::int32_t channels,
                                        const PixelAt& pixel_at) {
  image::WorkMemory memory;
  memory.add(step, channels);
  std::vector<image::Block> blocks(static_cast<std::size_t>(memory.blocks()));
  image::WorkImage work = memory.divide(blocks.data(), step.height, step.width, channels);
  std::uint8_t* to = work.now;
  for (std::int32_t row = 0; row < step.height; ++row)
    for (std::int32_t column = 0; column < step.width; ++column) {
      const std::uint8_t* const pixel = pixel_at(row, column);
      for (std::int32_t c = 0; c < channels; ++c) *to++ = pixel == nullptr ? 0 : pixel[c];
    }
  cpu::run_image_step(step, draw, work);
  return {work.now, work.now + std::int64_t{work.height} * work.width * channels};
}

/// Writes the image of draw `sample` to `out` (out_height, out_width, channels).
template <class T>
void augment_image(const AugmentPlan& plan,
                   const std::uint8_t* image,
                   std::uint64_t seed,
                   std::uint64_t epoch,
                   std::int64_t sample,
                   std::int64_t channels,
                   T* out) {
  using Kind = AugmentPlan::Step::Kind;
  const AugmentDraw draw{seed, epoch, static_cast<std::uint64_t>(sample)};
  AugmentMap rows(plan.height);
  AugmentMap columns(plan.width);
  std::vector<std::uint8_t> changed;
  std::int32_t width = plan.width;
  for (int i = 0; i < plan.steps; ++i) {
    const AugmentPlan::Step& step = plan.step[i];
    const Random4 r = draw(step.number);
    if (!step.moves()) {
      changed =
          change_pixels(step, draw, plan.channels, [&](std::int32_t row, std::int32_t column) {
            return image_at(image, width, plan.channels, rows[row], columns[column]);
          });
      image = changed.data();
      width = step.out_width;
      rows = AugmentMap(step.out_height);
      columns = AugmentMap(step.out_width);
    } else if (step.kind == Kind::flip) {
      if (is_flipped(step.probability, step.alternate, step.number, draw)) columns.mirror();
    } else if (step.kind == Kind::pad_reflect || step.kind == Kind::pad_zero) {
      rows.pad(step.pixels, step.kind == Kind::pad_reflect);
      columns.pad(step.pixels, step.kind == Kind::pad_reflect);
    } else {
      constexpr std::uint32_t kMiddle = 0x7FFFFFFFU;
      const bool random = step.kind == Kind::random_crop;
      rows.crop(step.out_height, random ? r.v[0] : kMiddle);
      columns.crop(step.out_width, random ? r.v[1] : kMiddle);
    }
  }
  for (std::int32_t row = 0; row < plan.out_height; ++row)
    for (std::int32_t column = 0; column < plan.out_width; ++column) {
      const std::uint8_t* const pixel =
          image_at(image, width, plan.channels, rows[row], columns[column]);
      const AugmentPlan::Hole* cut = nullptr;  // the last one that covers the pixel
      for (int i = 0; i < plan.holes; ++i)
        if (image::draw_hole(plan.hole[i], draw, plan.out_height, plan.out_width)
                .covers(row, column))
          cut = &plan.hole[i];
      for (std::int64_t c = 0; c < channels; ++c, ++out) {
        const std::int64_t place =
            (std::int64_t{row} * plan.out_width + column) * plan.channels + c;
        if (c >= plan.channels)
          *out = T{};
        else if (cut != nullptr)
          *out = cut->noise ? from_float<T>(image::noise_of(*cut, draw, place)) : T{};
        else
          *out = from_float<T>(
              (static_cast<float>(pixel == nullptr ? 0 : pixel[c]) / 255.0F - plan.mean[c]) /
              plan.std[c]);
      }
    }
}

/// Throws DataError for an index out of range.
template <class T>
void augment(Exec,
             const AugmentPlan& plan,
             const kernels::AugmentBatch& b,
             std::int64_t channels,
             T* x,
             std::uint32_t* y) {
  const std::int64_t image_bytes = std::int64_t{plan.height} * plan.width * plan.channels;
  const std::int64_t out_elements = std::int64_t{plan.out_height} * plan.out_width * channels;
  for (std::int64_t n = 0; n < b.batch; ++n) {
    const std::int64_t draw = b.index[n];
    check<DataError>(draw >= 0 && draw < b.draws,
                     "augment: place {} of the batch asks for image {}, the data set has {}",
                     n,
                     draw,
                     b.samples);
    const std::int64_t sample = draw % b.samples;
    std::copy_n(b.targets + sample * b.target_words, b.target_words, y + n * b.target_words);
    augment_image(plan,
                  b.images + sample * image_bytes,
                  b.seed,
                  b.epoch,
                  draw,
                  channels,
                  x + n * out_elements);
  }
}

}  // namespace learn::reference

namespace learn::cpu {

/// Calls the reference. Batches for the CPU are made by the threads of data/loading/loader.h.
template <class T>
void augment(const Exec&,
             const AugmentPlan& plan,
             const kernels::AugmentBatch& batch,
             std::int64_t channels,
             T* x,
             std::uint32_t* y) {
  reference::augment(reference::Exec{}, plan, batch, channels, x, y);
}

}  // namespace learn::cpu
