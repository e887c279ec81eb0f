#include "data/transforms.h"

#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/core/suggest.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace learn::data {
namespace {

constexpr std::int32_t kBlack = -1;  // a place that no source pixel fills

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

/// The source position of each output position, after padding a map.
void pad_map(std::vector<std::int32_t>& map, std::vector<std::int32_t>& other, const Pad& pad) {
  const auto n = static_cast<std::int64_t>(map.size());
  other.clear();
  for (std::int64_t o = -pad.pixels; o < n + pad.pixels; ++o) {
    const bool outside = o < 0 || o >= n;
    const std::int64_t mirrored = o < 0 ? -o : 2 * (n - 1) - o;
    if (outside && pad.mode == PadMode::zero)
      other.push_back(kBlack);
    else
      other.push_back(map[static_cast<std::size_t>(outside ? mirrored : o)]);
  }
  map.swap(other);
}

/// Keeps `size` positions, from one on that `word` chooses among all that are possible.
void crop_map(std::vector<std::int32_t>& map, std::int64_t size, std::uint32_t word) {
  const auto places = static_cast<std::uint32_t>(map.size() - static_cast<std::size_t>(size) + 1);
  map.erase(map.begin(), map.begin() + uniform_below(word, places));
  map.resize(static_cast<std::size_t>(size));
}

}  // namespace

/// The random words of one image: four for each step of the list, and for each hole of a cutout.
struct Pipeline::Draw {
  std::uint64_t seed, epoch, sample;
  [[nodiscard]] Random4 operator()(std::size_t step, std::int64_t hole = 0) const {
    return random4(
        seed,
        RandomPurpose::augment,
        epoch,
        sample | (std::uint64_t{step} << 40U) | (static_cast<std::uint64_t>(hole) << 52U));
  }
};

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
                   std::int64_t height,
                   std::int64_t width)
    : transforms_(std::move(transforms)),
      height_(height),
      width_(width),
      out_height_(height),
      out_width_(width) {
  check_transforms();
  make_tables(normalization);
}

void Pipeline::check_transforms() {
  constexpr std::size_t kMaxSteps = 4096;  // bits that Draw has for them
  constexpr std::int64_t kMaxHoles = 4096;
  if (transforms_.size() > kMaxSteps)
    fail<UsageError>("{} transforms are too many", transforms_.size());
  const auto crop = [&](std::int64_t size) {
    const std::int64_t rows = size == 0 ? height_ : size;
    const std::int64_t columns = size == 0 ? width_ : size;
    if (size < 0 || rows > out_height_ || columns > out_width_)
      fail<UsageError>(
          "cannot cut {}x{} out of an image of {}x{}", columns, rows, out_width_, out_height_);
    out_height_ = rows;
    out_width_ = columns;
  };
  for (const Transform& transform : transforms_)
    std::visit(Overload{[](const FlipLr& t) {
                          if (!(t.p >= 0 && t.p <= 1))
                            fail<UsageError>("flip_lr: probability {} is not in [0, 1]", t.p);
                        },
                        [&](const Pad& t) {
                          const std::int64_t least = std::min(out_height_, out_width_);
                          if (t.pixels < 0 || (t.mode == PadMode::reflect && t.pixels >= least))
                            fail<UsageError>("pad: cannot add {} pixels to an image of {}x{}",
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
                          changes_pixels_ = true;
                        }},
               transform);
}

void Pipeline::make_tables(const Normalization& normalization) {
  for (std::size_t c = 0; c < 3; ++c) {
    const float scale = normalization.std[c];
    if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(normalization.mean[c]))
      fail<UsageError>("normalization: mean {} and standard deviation {} of channel {}",
                       normalization.mean[c],
                       scale,
                       c);
    for (std::size_t v = 0; v < 256; ++v) {
      const float value = (static_cast<float>(v) / 255.0F - normalization.mean[c]) / scale;
      f32_.value[c][v] = value;
      f16_.value[c][v] = to_half(value);
      bf16_.value[c][v] = to_bfloat16(value);
    }
  }
}

// Padding, cropping and mirroring move whole rows and whole columns, so any list of them is one map
// of rows and one of columns, and the image is touched once.
void Pipeline::build_maps(const Draw& draw, Scratch& scratch) const {
  auto& rows = scratch.rows;
  auto& columns = scratch.columns;
  rows.resize(static_cast<std::size_t>(height_));
  columns.resize(static_cast<std::size_t>(width_));
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(columns.begin(), columns.end(), 0);
  for (std::size_t step = 0; step < transforms_.size(); ++step) {
    std::visit(Overload{[&](const FlipLr& t) {
                          if (uniform01(draw(step).v[0]) < t.p)
                            std::reverse(columns.begin(), columns.end());
                        },
                        [&](const Pad& t) {
                          pad_map(rows, scratch.other, t);
                          pad_map(columns, scratch.other, t);
                        },
                        [&](const RandomCrop& t) {
                          const Random4 r = draw(step);
                          crop_map(rows, t.size == 0 ? height_ : t.size, r.v[0]);
                          crop_map(columns, t.size == 0 ? width_ : t.size, r.v[1]);
                        },
                        [&](const CenterCrop& t) {
                          constexpr std::uint32_t kMiddle = 0x7FFFFFFFU;
                          crop_map(rows, t.size == 0 ? height_ : t.size, kMiddle);
                          crop_map(columns, t.size == 0 ? width_ : t.size, kMiddle);
                        },
                        [](const Cutout&) {},
                        [](const PixelTransform&) {}},
               transforms_[step]);
  }
}

template <class T>
void Pipeline::cut_out(const Draw& draw, T* out) const {
  for (std::size_t step = 0; step < transforms_.size(); ++step) {
    const auto* cutout = std::get_if<Cutout>(&transforms_[step]);
    if (cutout == nullptr) continue;
    for (std::int64_t hole = 0; hole < cutout->holes; ++hole) {
      const Random4 r = draw(step, hole);
      const auto begin = [&](std::uint32_t word, std::int64_t extent) {
        return std::int64_t{uniform_below(word, static_cast<std::uint32_t>(extent))} -
               cutout->length / 2;
      };
      const std::int64_t top = begin(r.v[0], out_height_);
      const std::int64_t left = begin(r.v[1], out_width_);
      const std::int64_t first = std::max<std::int64_t>(0, left);
      const std::int64_t last = std::min(out_width_, left + cutout->length);
      for (std::int64_t y = std::max<std::int64_t>(0, top);
           y < std::min(out_height_, top + cutout->length);
           ++y)
        std::fill(out + (y * out_width_ + first) * 3, out + (y * out_width_ + last) * 3, T{});
    }
  }
}

template <class T>
const Pipeline::Table<T>& Pipeline::table() const {
  if constexpr (std::is_same_v<T, float>)
    return f32_;
  else if constexpr (std::is_same_v<T, Half>)
    return f16_;
  else
    return bf16_;
}

template <class T>
void Pipeline::run(std::span<const std::uint8_t> image,
                   std::uint64_t seed,
                   std::uint64_t epoch,
                   std::uint64_t sample,
                   T* out,
                   Scratch& scratch) const {
  const Draw draw{seed, epoch, sample};
  const std::uint8_t* source = image.data();
  if (changes_pixels_) {
    scratch.pixels.assign(image.begin(), image.end());
    source = scratch.pixels.data();
    for (std::size_t step = 0; step < transforms_.size(); ++step)
      if (const auto* own = std::get_if<PixelTransform>(&transforms_[step])) {
        const Random4 r = draw(step);
        own->apply(scratch.pixels, {r.v[0], r.v[1], r.v[2], r.v[3]});
      }
  }
  build_maps(draw, scratch);

  const auto row_bytes = static_cast<std::size_t>(width_ * 3);
  scratch.line.assign(row_bytes + 3, 0);  // the last pixel stays black, for kBlack columns
  for (std::int32_t& column : scratch.columns)
    column = 3 * (column == kBlack ? static_cast<std::int32_t>(width_) : column);
  const auto& [red, green, blue] = table<T>().value;
  T* to = out;
  for (const std::int32_t row : scratch.rows) {
    if (row == kBlack)
      std::memset(scratch.line.data(), 0, row_bytes);
    else
      std::memcpy(
          scratch.line.data(), source + static_cast<std::size_t>(row) * row_bytes, row_bytes);
    for (const std::int32_t column : scratch.columns) {
      const std::uint8_t* pixel = &scratch.line[static_cast<std::size_t>(column)];
      to[0] = red[pixel[0]];
      to[1] = green[pixel[1]];
      to[2] = blue[pixel[2]];
      to += 3;
    }
  }
  cut_out(draw, out);
}

template void Pipeline::run(std::span<const std::uint8_t>,
                            std::uint64_t,
                            std::uint64_t,
                            std::uint64_t,
                            float*,
                            Scratch&) const;
template void Pipeline::run(std::span<const std::uint8_t>,
                            std::uint64_t,
                            std::uint64_t,
                            std::uint64_t,
                            Half*,
                            Scratch&) const;
template void Pipeline::run(std::span<const std::uint8_t>,
                            std::uint64_t,
                            std::uint64_t,
                            std::uint64_t,
                            BFloat16*,
                            Scratch&) const;

}  // namespace learn::data
