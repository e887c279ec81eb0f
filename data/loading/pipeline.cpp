#include "data/loading/pipeline.h"

#include "data/images/resize.h"
#include "framework/core/error.h"
#include "framework/kernels/augment/draw_change.h"
#include "framework/kernels/augment/erased_hole.h"
#include "framework/kernels/augment/image_steps.h"
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

/// Copies the pixels that the maps select from an image of this width.
void move_pixels(const std::uint8_t* source,
                 std::int64_t width,
                 std::int64_t channels,
                 Pipeline::Scratch& scratch,
                 std::uint8_t* to) {
  const std::vector<std::int32_t>& columns = scratch.columns;
  const bool in_one_piece = columns.front() != kBlack &&
                            std::ranges::adjacent_find(columns, [](std::int32_t a, std::int32_t b) {
                              return b != a + 1;
                            }) == columns.end();
  if (!in_one_piece)
    return gather(
        source, width, channels, scratch, [&](std::uint8_t value, std::size_t) { *to++ = value; });
  const std::int64_t bytes = static_cast<std::int64_t>(columns.size()) * channels;
  for (const std::int32_t row : scratch.rows) {
    if (row == kBlack)
      std::fill_n(to, bytes, std::uint8_t{0});
    else
      std::copy_n(source + (row * width + columns.front()) * channels, bytes, to);
    to += bytes;
  }
}

}  // namespace

// Padding, cropping and mirroring move whole rows and whole columns, so any list of them is one map
// of rows and one of columns, and the image is touched once. Returns whether the image changes.
bool Pipeline::build_maps(const AugmentDraw& draw,
                          std::size_t from,
                          std::size_t to,
                          Scratch& scratch) const {
  auto& rows = scratch.rows;
  auto& columns = scratch.columns;
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(columns.begin(), columns.end(), 0);
  bool moved = false;
  for (std::size_t step = from; step < to; ++step) {
    const Transform& transform = transforms_[step];
    const auto number = static_cast<std::int32_t>(step);
    if (const auto* flip = std::get_if<FlipLr>(&transform)) {
      if (!is_flipped(flip->p, flip->alternate, number, draw)) continue;
      std::reverse(columns.begin(), columns.end());
    } else if (const auto* pad = std::get_if<Pad>(&transform)) {
      pad_map(rows, scratch.other, *pad);
      pad_map(columns, scratch.other, *pad);
    } else if (const auto* random = std::get_if<RandomCrop>(&transform)) {
      const Random4 r = draw(number);
      crop_map(rows, random->size == 0 ? form_.height : random->size, r.v[0]);
      crop_map(columns, random->size == 0 ? form_.width : random->size, r.v[1]);
    } else if (const auto* center = std::get_if<CenterCrop>(&transform)) {
      constexpr std::uint32_t kMiddle = 0x7FFFFFFFU;
      crop_map(rows, center->size == 0 ? form_.height : center->size, kMiddle);
      crop_map(columns, center->size == 0 ? form_.width : center->size, kMiddle);
    } else {
      continue;
    }
    moved = true;
  }
  return moved;
}

void Pipeline::run_pixel_step(const PixelStep& step,
                              const AugmentDraw& draw,
                              image::WorkImage& image) const {
  if (step.step.has_value()) return cpu::run_image_step(*step.step, draw, image);
  const std::int64_t bytes = std::int64_t{image.height} * image.width * image.channels;
  std::get<PixelTransform>(transforms_[step.number])
      .apply({image.now, static_cast<std::size_t>(bytes)},
             words_of(draw(static_cast<std::int32_t>(step.number))));
}

/// Runs the list up to the last step that needs the pixels. Leaves in `scratch` the maps of the
/// later moves, from the returned pixels.
template <class S>
const S* Pipeline::run_on_pixels(const S* image, const AugmentDraw& draw, Scratch& scratch) const {
  scratch.rows.resize(static_cast<std::size_t>(form_.is_image() ? form_.height : 1));
  scratch.columns.resize(static_cast<std::size_t>(form_.is_image() ? form_.width : 1));
  std::size_t from = 0;
  if constexpr (std::is_same_v<S, std::uint8_t>) {
    scratch.work.resize(static_cast<std::size_t>(memory_.blocks()));
    image::WorkImage work = memory_.divide(scratch.work.data(), 1, 1, form_.channels);
    for (const PixelStep& step : pixel_steps_) {
      const auto width = static_cast<std::int64_t>(scratch.columns.size());
      const bool is_source = &step == pixel_steps_.data();
      if (build_maps(draw, from, step.number, scratch) || is_source) {
        move_pixels(is_source ? image : work.now, width, form_.channels, scratch, work.next);
        work.swap();
        work.height = static_cast<std::int32_t>(scratch.rows.size());
        work.width = static_cast<std::int32_t>(scratch.columns.size());
      }
      run_pixel_step(step, draw, work);
      scratch.rows.resize(static_cast<std::size_t>(work.height));
      scratch.columns.resize(static_cast<std::size_t>(work.width));
      from = step.number + 1;
    }
    if (!pixel_steps_.empty()) image = work.now;
  }
  scratch.source_width = static_cast<std::int64_t>(scratch.columns.size());
  (void)build_maps(draw, from, transforms_.size(), scratch);
  return image;
}

template <class T>
void Pipeline::erase(const AugmentPlan::Hole& hole, const AugmentDraw& draw, T* out) const {
  const image::Hole drawn = image::draw_hole(
      hole, draw, static_cast<std::int32_t>(out_height_), static_cast<std::int32_t>(out_width_));
  const std::int64_t first = std::max(0, drawn.left);
  const std::int64_t last = std::min<std::int64_t>(out_width_, drawn.left + drawn.width);
  for (std::int64_t y = std::max(0, drawn.top);
       y < std::min<std::int64_t>(out_height_, drawn.top + drawn.height);
       ++y)
    for (std::int64_t i = (y * out_width_ + first) * form_.channels;
         i < (y * out_width_ + last) * form_.channels;
         ++i)
      out[i] = hole.noise ? from_float<T>(image::noise_of(hole, draw, i)) : T{};
}

template <class T>
void Pipeline::run_on_values(const AugmentDraw& draw, T* out) const {
  for (const ValueStep& step : value_steps_) {
    if (step.hole.has_value()) erase(*step.hole, draw, out);
    if constexpr (std::is_same_v<T, float>)
      if (!step.hole.has_value())
        std::get<ValueTransform>(transforms_[step.number])
            .apply({out, static_cast<std::size_t>(out_shape().elements())},
                   words_of(draw(static_cast<std::int32_t>(step.number))));
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
  const AugmentDraw draw{seed, epoch, sample};
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
  const AugmentDraw draw{seed, epoch, sample};
  for (std::size_t step = 0; step < image_steps_; ++step) {
    std::get<ImageTransform>(transforms_[step])
        .apply(image, words_of(draw(static_cast<std::int32_t>(step))));
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
  if (!whole_crop_.has_value()) {
    image = resize_and_crop(image, form_.height, form_.width);
    return;
  }
  const image::Window window = image::draw_window(*whole_crop_,
                                                  draw,
                                                  static_cast<std::int32_t>(image.height),
                                                  static_cast<std::int32_t>(image.width));
  image = resize_part(image, window, form_.height, form_.width);
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
