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

/// Augmentation and normalisation on the host. Every draw is a function of (seed,
/// epoch, sample, position in the list) alone: never of threads, batches or order.
namespace learn::data {

/// Mirrors left and right with probability `p`.
struct FlipLr {
  float p = 0.5F;
};

enum class PadMode : std::uint8_t {
  reflect,  ///< mirrors at the border pixel, which is not repeated: 2 1 | 0 1 2
  zero,     ///< black, before normalisation
};

/// Adds `pixels` on each side. Reflection needs images larger than that.
struct Pad {
  std::int64_t pixels = 4;
  PadMode mode = PadMode::reflect;
};

/// Cuts a size x size window out, at a place drawn uniformly; 0: the size that the image had at
/// first.
struct RandomCrop {
  std::int64_t size = 0;
};

/// Cuts the middle out; 0: the size that the image had at first.
struct CenterCrop {
  std::int64_t size = 0;
};

/// Sets `holes` squares of length x length to the mean colour (0 after normalisation), centres
/// drawn uniformly over the image, squares clipped at its border. DeVries and Taylor 2017.
struct Cutout {
  std::int64_t length = 8;
  std::int64_t holes = 1;
};

/// Four random words, the own ones of one step for one sample in one epoch.
using RandomWords = std::array<std::uint32_t, 4>;

/// A custom step on a whole decoded image, before it is scaled to the size of the data set. It may
/// change the pixels and the size, but not the number of channels. Only steps of the same kind may
/// precede it. Custom steps are called from several threads at once, and what they throw reaches
/// the caller of `next`; batches are then made on the host.
struct ImageTransform {
  std::function<void(Image& image, RandomWords random)> apply;
};

/// A custom step on the pixels (H,W,C) of an image after the preceding steps.
struct PixelTransform {
  std::function<void(std::span<std::uint8_t> pixels, RandomWords random)> apply;
};

/// A custom step on the input of the model, (H,W,C) or features: normalised and f32, whatever it is
/// rounded to afterwards. Only steps of the same kind and Cutout may follow it.
struct ValueTransform {
  std::function<void(std::span<float> values, RandomWords random)> apply;
};

/// One step of augmentation. Steps run in the order of the list, except that Cutout runs after all
/// steps that move or change pixels.
using Transform = std::variant<FlipLr,
                               Pad,
                               RandomCrop,
                               CenterCrop,
                               Cutout,
                               PixelTransform,
                               ImageTransform,
                               ValueTransform>;

/// One list of several parts, each of them a step or a list of steps, which run in this order:
/// `compose(augmentation("basic", 32, 32), Cutout{}, PixelTransform{mine})`.
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

/// The usual lists by name: "none"; "basic" pads by an eighth (4 pixels of 32, reflected), cuts the
/// old size out at random and flips, as fastai's notebooks do for CIFAR; "full" adds one cutout of
/// a quarter (8 of 32). `height` and `width` are those of the images. Throws UsageError.
[[nodiscard]] std::vector<Transform> augmentation(std::string_view name,
                                                  std::int64_t height,
                                                  std::int64_t width);
/// The names of these lists.
[[nodiscard]] const std::vector<std::string>& augmentation_names();

/// A checked list of transforms for samples of one form, ready to run.
class Pipeline {
 public:
  /// Throws UsageError for a step that does not support such samples or that is in a wrong place,
  /// and for the reasons of `for_channels`.
  Pipeline(std::vector<Transform> transforms,
           const Normalization& normalization,
           const SampleForm& form);

  /// Size of images; 1 and 1 for features.
  [[nodiscard]] std::int64_t out_height() const noexcept { return out_height_; }
  [[nodiscard]] std::int64_t out_width() const noexcept { return out_width_; }
  /// (out_height,out_width,C), or (C) of features.
  [[nodiscard]] Shape out_shape() const;

  /// Memory that one thread reuses from sample to sample.
  struct Scratch {
    std::vector<std::int32_t> rows, columns, other;
    std::vector<std::uint8_t> pixels, moved, byte_line;
    std::vector<float> float_line, values;
    std::int64_t source_width = 0;
  };

  /// Writes a sample, u8 or f32 as its form says, augmented and normalised to `out`, of type T:
  /// float, Half or BFloat16 (rounded from f32). `sample` numbers what is drawn for it.
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

  /// Whether images keep their original size.
  [[nodiscard]] bool takes_whole_images() const noexcept { return image_steps_ > 0; }
  /// Runs the ImageTransforms, and brings the image to the form's size: what `run` takes on from.
  /// Throws DataError if they left no image of as many channels.
  void transform_whole(Image& image,
                       std::uint64_t seed,
                       std::uint64_t epoch,
                       std::uint64_t sample) const;

 private:
  /// The result for each of the 256 values, channel by channel.
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
  /// Throws UsageError for a step that cannot be done; follows the size through all of them.
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
  void normalise(const S* from, T* out, Scratch& scratch) const;
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
