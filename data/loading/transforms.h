#pragma once
#include "data/images/image.h"
#include "data/loading/normalization.h"
#include "data/sample_form.h"
#include "framework/core/dtype.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// Augmentation and normalization on the host. Every draw is a function of (seed, epoch, sample,
/// position in the list) alone, and does not depend on threads, batches or order.
namespace learn::data {

/// Mirrors left and right with probability `p`.
struct FlipLr {
  float p = 0.5F;
};

enum class PadMode : std::uint8_t {
  reflect,  ///< mirrors at the border pixel, which is not repeated: 2 1 | 0 1 2
  zero,     ///< black, before normalization
};

/// Adds `pixels` on each side. Reflection needs images larger than `pixels`.
struct Pad {
  std::int64_t pixels = 4;
  PadMode mode = PadMode::reflect;
};

/// Crops a size x size window at a uniformly drawn position; 0: the image's original size.
struct RandomCrop {
  std::int64_t size = 0;
};

/// Crops the centre; 0: the image's original size.
struct CenterCrop {
  std::int64_t size = 0;
};

/// Sets `holes` squares of length x length to the mean colour (0 after normalization). The centres
/// are drawn uniformly over the image, and the squares are clipped at its border. DeVries and
/// Taylor 2017.
struct Cutout {
  std::int64_t length = 8;
  std::int64_t holes = 1;
};

/// Four random words, reserved for one step, sample and epoch.
using RandomWords = std::array<std::uint32_t, 4>;

/// A custom step on a whole decoded image, before it is scaled to the size of the data set. It may
/// change the pixels and the size, but not the number of channels. Only other ImageTransforms may
/// come before it. Custom steps are called from several threads at the same time, and their
/// exceptions reach the caller of `next`; batches are then made on the host.
struct ImageTransform {
  std::function<void(Image& image, RandomWords random)> apply;
};

/// A custom step on the pixels (H,W,C) of an image after the steps before it.
struct PixelTransform {
  std::function<void(std::span<std::uint8_t> pixels, RandomWords random)> apply;
};

/// A custom step on the model's input, (H,W,C) or features: normalized and f32, before any rounding
/// to half. Only steps of this kind and Cutout may come after it.
struct ValueTransform {
  std::function<void(std::span<float> values, RandomWords random)> apply;
};

/// One step of augmentation. Steps run in the order of the list, but Cutout must come after all
/// steps that move or change pixels.
using Transform = std::variant<FlipLr,
                               Pad,
                               RandomCrop,
                               CenterCrop,
                               Cutout,
                               PixelTransform,
                               ImageTransform,
                               ValueTransform>;

/// Concatenates steps and lists of steps, which run in this order: `compose(augmentation("basic",
/// 32, 32), Cutout{}, PixelTransform{mine})`.
template <class... Parts>
[[nodiscard]] std::vector<Transform> compose(Parts&&... parts) {
  std::vector<Transform> all;
  [[maybe_unused]] const auto append = [&]<class Part>(Part&& part) {
    if constexpr (std::is_constructible_v<Transform, Part>)
      all.emplace_back(std::forward<Part>(part));
    else
      all.insert(all.end(), part.begin(), part.end());
  };
  (append(std::forward<Parts>(parts)), ...);
  return all;
}

/// Returns one of the usual lists by name: "none"; "basic" pads by an eighth (4 pixels of 32,
/// reflected), crops the original size at random and flips, as fastai's notebooks do for CIFAR;
/// "full" adds one cutout of a quarter (8 of 32). `height` and `width` give the size of the images.
/// Throws UsageError.
[[nodiscard]] std::vector<Transform> augmentation(std::string_view name,
                                                  std::int64_t height,
                                                  std::int64_t width);
/// Returns the names of these lists.
[[nodiscard]] const std::vector<std::string>& augmentation_names();

/// A checked list of transforms for samples of one form, ready to run.
class Pipeline {
 public:
  /// Throws UsageError for a step that does not work on such samples or may not have this position,
  /// and as `for_channels` does.
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
    std::vector<std::uint8_t> pixels, moved, byte_line;
    std::vector<float> float_line, values;
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
  [[nodiscard]] bool takes_whole_images() const noexcept { return image_steps_ > 0; }
  /// Runs the ImageTransforms and scales the image to the form's size, as input for `run`. Throws
  /// DataError unless they leave an image with the same number of channels.
  void transform_whole(Image& image,
                       std::uint64_t seed,
                       std::uint64_t epoch,
                       std::uint64_t sample) const;

 private:
  /// The result of normalizing each of the 256 values, for each channel.
  template <class T>
  using Table = std::vector<std::array<T, 256>>;
  struct Draw;

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
  void make_tables();
  void build_maps(const Draw& draw, std::size_t from, std::size_t to, Scratch& scratch) const;
  template <class S>
  const S* run_on_pixels(const S* image, const Draw& draw, Scratch& scratch) const;
  template <class T>
  void cut_out(const Cutout& cutout, std::size_t step, const Draw& draw, T* out) const;
  template <class T>
  void run_on_values(const Draw& draw, T* out) const;
  template <class T, class S>
  void normalize(const S* from, T* out, Scratch& scratch) const;
  template <class T>
  [[nodiscard]] const Table<T>& table() const;

  std::vector<Transform> transforms_;
  Normalization normalization_;
  SampleForm form_;
  std::int64_t out_height_, out_width_;
  std::size_t image_steps_ = 0;  ///< at the start of the list
  std::vector<std::size_t> pixel_steps_;
  bool changes_values_ = false;
  Table<float> f32_;
  Table<Half> f16_;
  Table<BFloat16> bf16_;
};

}  // namespace learn::data
