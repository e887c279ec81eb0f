#include "data/images/resize.h"
#include "data/loading/transforms.h"
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

namespace learn::data {
namespace {

constexpr std::int32_t kBlack = -1;  // a position without a source pixel

/// Maps output positions to source positions after padding.
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

/// Keeps `size` positions; `word` chooses the first among all possible ones.
void crop_map(std::vector<std::int32_t>& map, std::int64_t size, std::uint32_t word) {
  const auto places = static_cast<std::uint32_t>(map.size() - static_cast<std::size_t>(size) + 1);
  map.erase(map.begin(), map.begin() + uniform_below(word, places));
  map.resize(static_cast<std::size_t>(size));
}

RandomWords words_of(const Random4& r) { return {r.v[0], r.v[1], r.v[2], r.v[3]}; }

/// Calls put(value, channel) for each value of the image that the maps make of `source`. `kFixed`:
/// the number of channels, if known at compile time.
template <std::int64_t kFixed, class S, class Put>
void gather(const S* source,
            std::int64_t width,
            std::int64_t channels,
            const std::vector<std::int32_t>& rows,
            std::vector<std::int32_t>& columns,
            std::vector<S>& line,
            const Put& put) {
  const auto each = static_cast<std::size_t>(kFixed > 0 ? kFixed : channels);
  const std::size_t row_values = static_cast<std::size_t>(width) * each;
  line.assign(row_values + each, S{});  // the last pixel stays black, for kBlack columns
  for (std::int32_t& column : columns)
    column = static_cast<std::int32_t>(each) *
             (column == kBlack ? static_cast<std::int32_t>(width) : column);
  for (const std::int32_t row : rows) {
    if (row == kBlack)
      std::fill_n(line.begin(), row_values, S{});
    else
      std::copy_n(source + static_cast<std::size_t>(row) * row_values, row_values, line.begin());
    for (const std::int32_t column : columns) {
      const S* const pixel = &line[static_cast<std::size_t>(column)];
      for (std::size_t c = 0; c < each; ++c) put(pixel[c], c);
    }
  }
}

template <class S, class Put>
void gather(const S* source,
            std::int64_t width,
            std::int64_t channels,
            Pipeline::Scratch& scratch,
            const Put& put) {
  auto& line = [&]() -> std::vector<S>& {
    if constexpr (std::is_same_v<S, float>)
      return scratch.float_line;
    else
      return scratch.byte_line;
  }();
  const auto run = [&]<std::int64_t kFixed>() {
    gather<kFixed>(source, width, channels, scratch.rows, scratch.columns, line, put);
  };
  if (channels == 3)
    run.template operator()<3>();
  else if (channels == 1)
    run.template operator()<1>();
  else
    run.template operator()<0>();
}

}  // namespace

/// The random words of one image: four for each step of the list, and four for each hole of a
/// cutout.
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

// Padding, cropping and mirroring move whole rows and whole columns, so any list of them is one map
// of rows and one of columns, and the image is touched once.
void Pipeline::build_maps(const Draw& draw,
                          std::size_t from,
                          std::size_t to,
                          Scratch& scratch) const {
  auto& rows = scratch.rows;
  auto& columns = scratch.columns;
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(columns.begin(), columns.end(), 0);
  for (std::size_t step = from; step < to; ++step) {
    const Transform& transform = transforms_[step];
    if (const auto* flip = std::get_if<FlipLr>(&transform)) {
      if (uniform01(draw(step).v[0]) < flip->p) std::reverse(columns.begin(), columns.end());
    } else if (const auto* pad = std::get_if<Pad>(&transform)) {
      pad_map(rows, scratch.other, *pad);
      pad_map(columns, scratch.other, *pad);
    } else if (const auto* random = std::get_if<RandomCrop>(&transform)) {
      const Random4 r = draw(step);
      crop_map(rows, random->size == 0 ? form_.height : random->size, r.v[0]);
      crop_map(columns, random->size == 0 ? form_.width : random->size, r.v[1]);
    } else if (const auto* center = std::get_if<CenterCrop>(&transform)) {
      constexpr std::uint32_t kMiddle = 0x7FFFFFFFU;
      crop_map(rows, center->size == 0 ? form_.height : center->size, kMiddle);
      crop_map(columns, center->size == 0 ? form_.width : center->size, kMiddle);
    }
  }
}

/// Runs the list up to the last custom step on pixels. Leaves in `scratch` the maps of the later
/// moves, from the returned pixels.
template <class S>
const S* Pipeline::run_on_pixels(const S* image, const Draw& draw, Scratch& scratch) const {
  scratch.rows.resize(static_cast<std::size_t>(form_.is_image() ? form_.height : 1));
  scratch.columns.resize(static_cast<std::size_t>(form_.is_image() ? form_.width : 1));
  std::size_t from = 0;
  if constexpr (std::is_same_v<S, std::uint8_t>)
    for (const std::size_t step : pixel_steps_) {
      const auto width = static_cast<std::int64_t>(scratch.columns.size());
      build_maps(draw, from, step, scratch);
      scratch.moved.clear();
      scratch.moved.reserve(scratch.rows.size() * scratch.columns.size() *
                            static_cast<std::size_t>(form_.channels));
      gather(image, width, form_.channels, scratch, [&](std::uint8_t value, std::size_t) {
        scratch.moved.push_back(value);
      });
      std::get<PixelTransform>(transforms_[step]).apply(scratch.moved, words_of(draw(step)));
      scratch.pixels.swap(scratch.moved);
      image = scratch.pixels.data();
      from = step + 1;
    }
  scratch.source_width = static_cast<std::int64_t>(scratch.columns.size());
  build_maps(draw, from, transforms_.size(), scratch);
  return image;
}

template <class T>
void Pipeline::cut_out(const Cutout& cutout, std::size_t step, const Draw& draw, T* out) const {
  const std::int64_t channels = form_.channels;
  for (std::int64_t hole = 0; hole < cutout.holes; ++hole) {
    const Random4 r = draw(step, hole);
    const auto begin = [&](std::uint32_t word, std::int64_t extent) {
      return std::int64_t{uniform_below(word, static_cast<std::uint32_t>(extent))} -
             cutout.length / 2;
    };
    const std::int64_t top = begin(r.v[0], out_height_);
    const std::int64_t left = begin(r.v[1], out_width_);
    const std::int64_t first = std::max<std::int64_t>(0, left);
    const std::int64_t last = std::min(out_width_, left + cutout.length);
    for (std::int64_t y = std::max<std::int64_t>(0, top);
         y < std::min(out_height_, top + cutout.length);
         ++y)
      std::fill(
          out + (y * out_width_ + first) * channels, out + (y * out_width_ + last) * channels, T{});
  }
}

template <class T>
void Pipeline::run_on_values(const Draw& draw, T* out) const {
  for (std::size_t step = 0; step < transforms_.size(); ++step) {
    if (const auto* cutout = std::get_if<Cutout>(&transforms_[step]))
      cut_out(*cutout, step, draw, out);
    if constexpr (std::is_same_v<T, float>)
      if (const auto* own = std::get_if<ValueTransform>(&transforms_[step]))
        own->apply({out, static_cast<std::size_t>(out_shape().elements())}, words_of(draw(step)));
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

template <class T, class S>
void Pipeline::normalize(const S* from, T* out, Scratch& scratch) const {
  T* to = out;
  if constexpr (std::is_same_v<S, std::uint8_t>) {
    const std::array<T, 256>* const values = table<T>().data();
    gather(from, scratch.source_width, form_.channels, scratch, [&](std::uint8_t v, std::size_t c) {
      *to++ = values[c][v];
    });
  } else {
    const float* const mean = normalization_.mean.data();
    const float* const std = normalization_.std.data();
    gather(from, scratch.source_width, form_.channels, scratch, [&](float v, std::size_t c) {
      *to++ = from_float<T>((v - mean[c]) / std[c]);
    });
  }
}

template <class T, class S>
void Pipeline::run_any(const S* from,
                       std::uint64_t seed,
                       std::uint64_t epoch,
                       std::uint64_t sample,
                       T* out,
                       Scratch& scratch) const {
  const Draw draw{seed, epoch, sample};
  const S* const pixels = run_on_pixels(from, draw, scratch);
  if (std::is_same_v<T, float> || !changes_values_) {
    normalize(pixels, out, scratch);
    return run_on_values(draw, out);
  }
  scratch.values.resize(static_cast<std::size_t>(out_shape().elements()));
  normalize(pixels, scratch.values.data(), scratch);
  run_on_values(draw, scratch.values.data());
  std::ranges::transform(scratch.values, out, [](float v) { return from_float<T>(v); });
}

void Pipeline::transform_whole(Image& image,
                               std::uint64_t seed,
                               std::uint64_t epoch,
                               std::uint64_t sample) const {
  const Draw draw{seed, epoch, sample};
  for (std::size_t step = 0; step < image_steps_; ++step) {
    std::get<ImageTransform>(transforms_[step]).apply(image, words_of(draw(step)));
    if (image.height < 1 || image.width < 1 || image.channels != form_.channels ||
        image.pixels.size() !=
            static_cast<std::size_t>(image.height * image.width * image.channels))
      fail<DataError>(
          "transform {} of the list returned an image of {}x{} with {} channels and {} bytes; it "
          "must have {} channels",
          step,
          image.width,
          image.height,
          image.channels,
          image.pixels.size(),
          form_.channels);
  }
  image = resize_and_crop(std::move(image), form_.height, form_.width);
}

#define LEARN_INSTANTIATE(T, S)    \
  template void Pipeline::run_any( \
      const S*, std::uint64_t, std::uint64_t, std::uint64_t, T*, Scratch&) const;
LEARN_INSTANTIATE(float, std::uint8_t)
LEARN_INSTANTIATE(Half, std::uint8_t)
LEARN_INSTANTIATE(BFloat16, std::uint8_t)
LEARN_INSTANTIATE(float, float)
LEARN_INSTANTIATE(Half, float)
LEARN_INSTANTIATE(BFloat16, float)
#undef LEARN_INSTANTIATE

}  // namespace learn::data
