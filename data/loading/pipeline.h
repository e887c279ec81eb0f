#pragma once
#include "data/loading/normalization.h"
#include "data/loading/transforms.h"
#include "data/sample_form.h"
#include "framework/core/dtype.h"
#include "framework/kernels/augment/augment_draw.h"
#include "framework/kernels/augment/augment_plan.h"
#include "framework/kernels/augment/work_memory.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Augmentation and normalization on the host.
namespace learn::data {

/// A checked list of transforms for samples of one form, ready to run.
class Pipeline {
 public:
  /// Throws UsageError for a step that does not work on such samples or may not have this position,
  /// for a number that `augmentation_registry` would refuse, and as `for_channels` does.
  Pipeline(std::vector<Transform> transforms,
           const Normalization& normalization,
           const SampleForm& form);

  /// Size of images; 1 and 1 for features.
  [[nodiscard]] std::int64_t out_height() const noexcept { return out_height_; }
  [[nodiscard]] std::int64_t out_width() const noexcept { return out_width_; }
  /// Returns (out_height,out_width,C), or (C) for features.
  [[nodiscard]] Shape out_shape() const;

  /// Scratch memory that one thread reuses from sample to sample.
  struct Scratch {
    std::vector<std::int32_t> rows, columns, other;
    std::vector<std::uint8_t> byte_line;
    std::vector<float> float_line, values;
    std::vector<image::Block> work;
    std::int64_t source_width = 0;
  };

  /// Writes a sample, u8 or f32 according to its form, augmented and normalized to `out`, of type
  /// T: float, Half or BFloat16 (rounded from f32). `sample` is the number that its draws depend
  /// on.
  template <class T>
  void run(std::span<const std::uint8_t> image,
           std::uint64_t seed,
           std::uint64_t epoch,
           std::uint64_t sample,
           T* out,
           Scratch& scratch) const {
    run_any(image.data(), seed, epoch, sample, out, scratch);
  }
  template <class T>
  void run(std::span<const float> values,
           std::uint64_t seed,
           std::uint64_t epoch,
           std::uint64_t sample,
           T* out,
           Scratch& scratch) const {
    run_any(values.data(), seed, epoch, sample, out, scratch);
  }

  /// Returns whether images are needed in their original size.
  [[nodiscard]] bool takes_whole_images() const noexcept {
    return image_steps_ > 0 || whole_crop_.has_value();
  }
  /// Runs the ImageTransforms and scales the image, or the part that a following ResizedCrop draws,
  /// to the form's size, as input for `run`, which leaves out these steps. Throws DataError unless
  /// they leave an image with the same number of channels.
  void transform_whole(Image& image,
                       std::uint64_t seed,
                       std::uint64_t epoch,
                       std::uint64_t sample) const;

 private:
  /// The result of normalizing each of the 256 values, for each channel.
  template <class T>
  using Table = std::vector<std::array<T, 256>>;
  /// A step that needs the pixels: of a plan, or a PixelTransform.
  struct PixelStep {
    std::size_t number;
    std::optional<AugmentPlan::Step> step;
  };

  /// A step on normalized values: a hole, or a ValueTransform.
  struct ValueStep {
    std::size_t number;
    std::optional<AugmentPlan::Hole> hole;
  };

  template <class T, class S>
  void run_any(const S* from,
               std::uint64_t seed,
               std::uint64_t epoch,
               std::uint64_t sample,
               T* out,
               Scratch& scratch) const;
  /// Throws UsageError for a step that is not possible; tracks the size through all steps.
  void check_transforms();
  void check_place(std::size_t step) const;
  void crop_to(std::int64_t size);
  void add_image_step(AugmentPlan::Step step, std::size_t number);
  void make_tables();
  [[nodiscard]] bool build_maps(const AugmentDraw& draw,
                                std::size_t from,
                                std::size_t to,
                                Scratch& scratch) const;
  template <class S>
  const S* run_on_pixels(const S* image, const AugmentDraw& draw, Scratch& scratch) const;
  void run_pixel_step(const PixelStep& step,
                      const AugmentDraw& draw,
                      image::WorkImage& image) const;
  template <class T>
  void erase(const AugmentPlan::Hole& hole, const AugmentDraw& draw, T* out) const;
  template <class T>
  void run_on_values(const AugmentDraw& draw, T* out) const;
  template <class T, class S>
  void normalize(const S* from, T* out, Scratch& scratch) const;
  template <class T>
  [[nodiscard]] const Table<T>& table() const;

  std::vector<Transform> transforms_;
  Normalization normalization_;
  SampleForm form_;
  std::int64_t out_height_, out_width_;
  std::size_t image_steps_ = 0;                  ///< at the start of the list
  std::optional<AugmentPlan::Step> whole_crop_;  ///< a ResizedCrop after these
  std::vector<PixelStep> pixel_steps_;
  std::vector<ValueStep> value_steps_;
  image::WorkMemory memory_;  ///< for these steps
  bool changes_values_ = false;
  Table<float> f32_;
  Table<Half> f16_;
  Table<BFloat16> bf16_;
};

}  // namespace learn::data
