#pragma once
#include "data/normalization.h"
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

/// Augmentation and normalisation of u8 images on the host. Every draw is a function of (seed,
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

/// A step of one's own, called with the unchanged pixels (H,W,C) of one image, which it may change,
/// and with its own four random words. It comes before all others, wherever it stands in the list;
/// it is called from several threads at once. What it throws reaches the caller of `next`.
struct PixelTransform {
  std::function<void(std::span<std::uint8_t> pixels, std::array<std::uint32_t, 4> random)> apply;
};

/// One step of augmentation. Steps run in the order of the list.
using Transform = std::variant<FlipLr, Pad, RandomCrop, CenterCrop, Cutout, PixelTransform>;

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

/// A checked list of transforms for images of one size, ready to run.
class Pipeline {
 public:
  /// Throws UsageError for a step that cannot work on images of this size.
  Pipeline(std::vector<Transform> transforms,
           const Normalization& normalization,
           std::int64_t height,
           std::int64_t width);

  [[nodiscard]] std::int64_t out_height() const noexcept { return out_height_; }
  [[nodiscard]] std::int64_t out_width() const noexcept { return out_width_; }

  /// Memory that one thread reuses from image to image.
  struct Scratch {
    std::vector<std::int32_t> rows, columns, other;
    std::vector<std::uint8_t> pixels, line;
  };

  /// Writes image `sample` (u8, (H,W,3)) augmented and normalised to `out`, (out_height,
  /// out_width, 3) of type T: float, Half or BFloat16 (rounded from f32).
  template <class T>
  void run(std::span<const std::uint8_t> image,
           std::uint64_t seed,
           std::uint64_t epoch,
           std::uint64_t sample,
           T* out,
           Scratch& scratch) const;

 private:
  template <class T>
  struct Table {
    std::array<std::array<T, 256>, 3> value;
  };
  struct Draw;

  /// Throws UsageError for a step that cannot be done; follows the size through all of them.
  void check_transforms();
  /// What each of the 256 values becomes, for each channel and type.
  void make_tables(const Normalization& normalization);
  void build_maps(const Draw& draw, Scratch& scratch) const;
  template <class T>
  void cut_out(const Draw& draw, T* out) const;
  template <class T>
  [[nodiscard]] const Table<T>& table() const;

  std::vector<Transform> transforms_;
  std::int64_t height_, width_;
  std::int64_t out_height_, out_width_;
  bool changes_pixels_ = false;
  Table<float> f32_;
  Table<Half> f16_;
  Table<BFloat16> bf16_;
};

}  // namespace learn::data
