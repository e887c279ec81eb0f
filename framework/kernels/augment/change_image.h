#pragma once
#include "framework/core/random.h"
#include "framework/kernels/augment/image_change.h"
#include "framework/kernels/augment/taps.h"
#include "framework/kernels/augment/work_image.h"

#include <cmath>
#include <cstdint>

/// Changes of images, written once for all devices: a team of threads, which may be one, runs them.
/// Bytes are rounded after each change, as by torchvision's transforms v2, whose results they have.
///
/// A Team has
///
///     each(n, f)            calls f(i) for i in [0, n), in any order
///     grid(rows, n, f)      calls f(row, i)
///     add_up(rows, n, taps, value, put)  calls put(row, i, sum), where the sum is of weight k of
///                           taps(row) times value(row, k)[i]
///     sum(n, f)             the sum of all f(i), in all threads; waits for all
///     tally(n, bins, f)     adds 1 to bins[f(i)] for each i
///     sync()                waits for all
///     leads()               true in one thread
///     shared()              its TeamMemory
namespace learn::image {

/// Memory that all threads of a team see.
struct TeamMemory {
  Change change;
  std::uint32_t bins[256];
  std::uint8_t curve[256];
};

[[nodiscard]] LEARN_HD constexpr std::uint8_t to_byte(float value) {
  const float above = value < 0 ? 0 : value;
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(above > 255 ? 255 : above));
}

/// Returns 0.2989 r + 0.587 g + 0.114 b, rounded down.
[[nodiscard]] LEARN_HD constexpr std::uint32_t gray_of(std::uint32_t r,
                                                       std::uint32_t g,
                                                       std::uint32_t b) {
  return (2989 * r + 5870 * g + 1140 * b) / 10000;
}

/// Applies `f` to each byte.
template <class Team, class F>
LEARN_HD void change_bytes(const Team& team, const WorkImage& image, F f) {
  std::uint8_t* const p = image.now;
  team.each(image.height * image.width * image.channels, [=](std::int32_t i) { p[i] = f(p[i]); });
}

/// Applies f(pointer to red) to each pixel of three channels.
template <class Team, class F>
LEARN_HD void change_colours(const Team& team, const WorkImage& image, F f) {
  std::uint8_t* const p = image.now;
  team.each(image.height * image.width, [=](std::int32_t i) { f(p + std::int64_t{i} * 3); });
}

template <class Team>
LEARN_HD void change_contrast(const Team& team, const WorkImage& image, float factor) {
  const std::int32_t pixels = image.height * image.width;
  const std::uint8_t* const p = image.now;
  const std::uint64_t sum =
      image.channels == 3 ? team.sum(pixels,
                                     [=](std::int32_t i) {
                                       const std::int64_t at = std::int64_t{i} * 3;
                                       return gray_of(p[at], p[at + 1], p[at + 2]);
                                     })
                          : team.sum(pixels, [=](std::int32_t i) { return std::uint32_t{p[i]}; });
  const float mean = static_cast<float>(sum) / static_cast<float>(pixels);
  const float constant = (1 - factor) * mean;
  change_bytes(team, image, [=](std::uint8_t v) {
    return to_byte(factor * static_cast<float>(v) + constant);
  });
}

/// Shifts the hue, in turns of the colour wheel.
LEARN_HD inline void shift_hue(std::uint8_t* pixel, float shift) {
  const float r = static_cast<float>(pixel[0]) / 255;
  const float g = static_cast<float>(pixel[1]) / 255;
  const float b = static_cast<float>(pixel[2]) / 255;
  const float rg_most = r > g ? r : g;
  const float rg_least = r < g ? r : g;
  const float most = rg_most > b ? rg_most : b;
  const float least = rg_least < b ? rg_least : b;
  const bool equal = most == least;
  const float spread = most - least;
  const float saturation = spread / (equal ? 1.0F : most);
  const float divisor = equal ? 1.0F : spread;
  const float rc = (most - r) / divisor;
  const float gc = (most - g) / divisor;
  const float bc = (most - b) / divisor;
  const float sector = most == r ? bc - gc : most == g ? rc + 2 - bc : gc + 4 - rc;
  const float turned = sector * (1.0F / 6.0F) + 1;
  const float hue = turned - static_cast<float>(static_cast<std::int32_t>(turned)) + shift;
  const float wrapped = hue < 0 ? hue + 1 : hue >= 1 ? hue - 1 : hue;
  const float six = wrapped * 6;
  const auto whole = static_cast<std::int32_t>(six);
  const float f = six - static_cast<float>(whole);
  const auto unit = [](float v) { return v < 0 ? 0.0F : v > 1 ? 1.0F : v; };
  const float sf = saturation * f;
  const float low = 1 - saturation;
  const float q = unit((1 - sf) * most);
  const float t = unit((sf + low) * most);
  const float p = unit(low * most);
  const auto byte = [](float v) { return static_cast<std::uint8_t>(v * 255.999F); };
  const std::int32_t i = whole % 6;
  pixel[0] = byte(i == 0 || i == 5 ? most : i == 1 ? q : i == 4 ? t : p);
  pixel[1] = byte(i == 1 || i == 2 ? most : i == 0 ? t : i == 3 ? q : p);
  pixel[2] = byte(i == 3 || i == 4 ? most : i == 2 ? t : i == 5 ? q : p);
}

/// Writes to `curve` what autocontrast makes of each value: the values that exist are stretched to
/// [0, 255].
LEARN_HD inline void autocontrast_curve(const std::uint32_t* bins, std::uint8_t* curve) {
  std::int32_t least = 0;
  std::int32_t most = 255;
  while (least < 255 && bins[least] == 0) ++least;
  while (most > 0 && bins[most] == 0) --most;
  const float scale = static_cast<float>(most - least) * (1.0F / 255.0F);
  for (std::int32_t v = 0; v < 256; ++v)
    curve[v] = least == most ? static_cast<std::uint8_t>(v)
                             : to_byte(static_cast<float>(v - least) / scale);
}

/// Writes to `curve` what PIL's equalize makes of each value.
LEARN_HD inline void equalize_curve(const std::uint32_t* bins,
                                    std::uint32_t pixels,
                                    std::uint8_t* curve) {
  std::int32_t most = 255;
  while (most > 0 && bins[most] == 0) --most;
  const std::uint32_t step = (pixels - bins[most]) / 255;
  std::uint32_t below = 0;  // pixels of smaller values
  for (std::int32_t v = 0; v < 256; ++v) {
    const std::uint32_t level =
        step == 0 ? static_cast<std::uint32_t>(v) : (below + step / 2) / step;
    curve[v] = static_cast<std::uint8_t>(level > 255 ? 255 : level);
    below += bins[v];
  }
}

/// Replaces each channel's values by a curve that depends on how often each value occurs.
template <class Team>
LEARN_HD void change_by_histogram(const Team& team, const WorkImage& image, bool equalize) {
  const std::int32_t pixels = image.height * image.width;
  const std::int32_t channels = image.channels;
  TeamMemory* const shared = team.shared();
  for (std::int32_t c = 0; c < channels; ++c) {
    std::uint8_t* const p = image.now + c;
    team.each(256, [=](std::int32_t i) { shared->bins[i] = 0; });
    team.sync();
    team.tally(pixels, shared->bins, [=](std::int32_t i) { return p[std::int64_t{i} * channels]; });
    team.sync();
    if (team.leads()) {
      if (equalize)
        equalize_curve(shared->bins, static_cast<std::uint32_t>(pixels), shared->curve);
      else
        autocontrast_curve(shared->bins, shared->curve);
    }
    team.sync();
    const std::uint8_t* const curve = shared->curve;
    team.each(pixels, [=](std::int32_t i) {
      std::uint8_t& v = p[std::int64_t{i} * channels];
      v = curve[v];
    });
    team.sync();
  }
}

/// Blends with the image blurred by 3x3 weights of 1, and 5 in the middle. Pixels at the border
/// stay.
template <class Team>
LEARN_HD void change_sharpness(const Team& team, WorkImage& image, float factor) {
  if (image.height <= 2 || image.width <= 2) return;
  const std::int32_t channels = image.channels;
  const std::int32_t row_bytes = image.width * channels;
  const std::int32_t rows = image.height;
  const std::uint8_t* const from = image.now;
  std::uint8_t* const to = image.next;
  team.each(row_bytes, [=](std::int32_t i) {
    const std::int64_t last = std::int64_t{rows - 1} * row_bytes + i;
    to[i] = from[i];
    to[last] = from[last];
  });
  team.each((rows - 2) * channels, [=](std::int32_t i) {
    const std::int64_t left = std::int64_t{1 + i / channels} * row_bytes + i % channels;
    const std::int64_t right = left + row_bytes - channels;
    to[left] = from[left];
    to[right] = from[right];
  });
  const float rest = 1 - factor;
  team.grid(rows - 2, row_bytes - 2 * channels, [=](std::int32_t row, std::int32_t i) {
    const std::uint8_t* const at = from + std::int64_t{row + 1} * row_bytes + i;
    const auto three = [=](const std::uint8_t* p) {
      return std::int32_t{p[0]} + std::int32_t{p[channels]} + std::int32_t{p[2 * channels]};
    };
    const std::int32_t middle = at[channels];
    const std::int32_t sum = three(at - row_bytes) + three(at) + three(at + row_bytes) + 4 * middle;
    const auto blurred = static_cast<float>((2 * sum + 13) / 26);  // to the nearest; never a tie
    const auto value = static_cast<float>(middle);
    to[std::int64_t{row + 1} * row_bytes + channels + i] =
        to_byte(value + rest * (blurred - value));
  });
  image.swap();
}

/// Mirrors an index at the first and the last one, which are not repeated.
[[nodiscard]] LEARN_HD constexpr std::int32_t reflected(std::int32_t i, std::int32_t n) {
  const std::int32_t inside = i < 0 ? -i : i;
  return inside < n ? inside : 2 * (n - 1) - inside;
}

/// Rows, then columns, of a normal distribution. Its size is odd and at most 2 H - 1 and 2 W - 1.
template <class Team>
LEARN_HD void blur(const Team& team, WorkImage& image, const Change& change) {
  const std::int32_t channels = image.channels;
  const std::int32_t row_bytes = image.width * channels;
  const std::int32_t rows = image.height;
  const std::int32_t columns = image.width;
  const std::int32_t reach = change.count / 2;
  std::int32_t* const taps = image.taps;
  if (team.leads()) make_bell(change.count, change.factor, taps);
  team.sync();
  const auto same_taps = [=](std::int32_t) { return taps; };
  const std::uint8_t* const from = image.now;
  std::uint16_t* const lines = image.lines;
  team.add_up(
      rows,
      row_bytes,
      same_taps,
      [=](std::int32_t row, std::int32_t k) {
        return from + std::int64_t{reflected(row + k - reach, rows)} * row_bytes;
      },
      [=](std::int32_t row, std::int32_t i, std::uint32_t sum) {
        lines[std::int64_t{row} * row_bytes + i] = static_cast<std::uint16_t>((sum + 128) >> 8U);
      });
  team.sync();
  std::uint8_t* const to = image.next;
  const auto put = [=](std::int32_t row, std::int32_t i, std::uint32_t sum) {
    to[std::int64_t{row} * row_bytes + i] = static_cast<std::uint8_t>((sum + (1U << 23U)) >> 24U);
  };
  const std::int32_t border = columns < 2 * reach ? columns : 2 * reach;  // columns of it
  team.grid(rows, border * channels, [=](std::int32_t row, std::int32_t i) {
    const std::int32_t index = i / channels;
    const std::int32_t x = index < reach || border == columns ? index : columns - border + index;
    const std::int32_t c = i % channels;
    const std::uint16_t* const line = lines + std::int64_t{row} * row_bytes + c;
    std::uint32_t sum = 0;
    for (std::int32_t k = 0; k < taps[1]; ++k)
      sum += static_cast<std::uint32_t>(taps[2 + k]) *
             line[std::int64_t{reflected(x + k - reach, columns)} * channels];
    put(row, x * channels + c, sum);
  });
  if (border < columns)
    team.add_up(
        rows,
        row_bytes - border * channels,
        same_taps,
        [=](std::int32_t row, std::int32_t k) {
          return lines + std::int64_t{row} * row_bytes + std::int64_t{k} * channels;
        },
        [=](std::int32_t row, std::int32_t i, std::uint32_t sum) {
          put(row, reach * channels + i, sum);
        });
  team.sync();
  image.swap();
}

/// Moves pixels; those from outside are black.
template <class Team>
LEARN_HD void move_pixels(const Team& team, WorkImage& image, const AffineMap& map, bool smooth) {
  const std::int32_t channels = image.channels;
  const std::int32_t rows = image.height;
  const std::int32_t columns = image.width;
  const std::uint8_t* const from = image.now;
  std::uint8_t* const to = image.next;
  const auto pixel_at = [=](std::int64_t row, std::int64_t column) -> const std::uint8_t* {
    const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
    return inside ? from + (row * columns + column) * channels : nullptr;
  };
  constexpr std::int64_t kHalf = 1 << 15;
  if (!smooth) {
    team.grid(rows, columns, [=](std::int32_t y, std::int32_t x) {
      const std::uint8_t* const pixel = pixel_at((map.yx * x + map.yy * y + map.y0 + kHalf) >> 16,
                                                 (map.xx * x + map.xy * y + map.x0 + kHalf) >> 16);
      std::uint8_t* const out = to + (std::int64_t{y} * columns + x) * channels;
      for (std::int32_t c = 0; c < channels; ++c)
        out[c] = pixel == nullptr ? std::uint8_t{0} : pixel[c];
    });
  } else {
    team.grid(rows, columns, [=](std::int32_t y, std::int32_t x) {
      // The four weights are products of 256ths, finer than the steps of a byte.
      const std::int64_t row = (map.yx * x + map.yy * y + map.y0 + 128) >> 8;
      const std::int64_t column = (map.xx * x + map.xy * y + map.x0 + 128) >> 8;
      const auto down = static_cast<std::uint32_t>(row & 255);
      const auto right = static_cast<std::uint32_t>(column & 255);
      const std::uint8_t* const corner[4] = {pixel_at(row >> 8, column >> 8),
                                             pixel_at(row >> 8, (column >> 8) + 1),
                                             pixel_at((row >> 8) + 1, column >> 8),
                                             pixel_at((row >> 8) + 1, (column >> 8) + 1)};
      const std::uint32_t weight[4] = {
          (256 - down) * (256 - right), (256 - down) * right, down * (256 - right), down * right};
      std::uint8_t* const out = to + (std::int64_t{y} * columns + x) * channels;
      for (std::int32_t c = 0; c < channels; ++c) {
        std::uint32_t sum = kHalf;
        for (int k = 0; k < 4; ++k) sum += corner[k] == nullptr ? 0 : weight[k] * corner[k][c];
        out[c] = static_cast<std::uint8_t>(sum >> 16U);
      }
    });
  }
  team.sync();
  image.swap();
}

/// Pixels to be scaled, with rows that are `stride` bytes apart.
struct ResizeSource {
  const std::uint8_t* pixels;
  std::int64_t stride;
};
/// Memory for scaling, as in WorkImage.
struct ResizeMemory {
  std::uint16_t* lines;
  std::int32_t* taps;
};

/// Scales an image: rows first, then columns.
template <class Team>
LEARN_HD void resize(const Team& team,
                     const ResizeSource& from,
                     std::int32_t channels,
                     const Axis& rows,
                     const Axis& columns,
                     const ResizeMemory& memory,
                     std::uint8_t* to) {
  const std::int32_t row_values = columns.source * channels;
  std::int32_t* const taps = memory.taps;
  std::uint16_t* const lines = memory.lines;
  const std::int32_t row_words = rows.tap_words();
  team.each(rows.result,
            [=](std::int32_t o) { make_taps(rows, o, taps + std::int64_t{o} * row_words); });
  team.sync();
  team.add_up(
      rows.result,
      row_values,
      [=](std::int32_t row) { return taps + std::int64_t{row} * row_words; },
      [=](std::int32_t row, std::int32_t k) {
        return from.pixels + (taps[std::int64_t{row} * row_words] + k) * from.stride;
      },
      [=](std::int32_t row, std::int32_t i, std::uint32_t sum) {
        lines[std::int64_t{row} * row_values + i] = static_cast<std::uint16_t>((sum + 128) >> 8U);
      });
  team.sync();
  const std::int32_t words = columns.tap_words();
  team.each(columns.result,
            [=](std::int32_t o) { make_taps(columns, o, taps + std::int64_t{o} * words); });
  team.sync();
  const std::int32_t width = columns.result;
  team.grid(rows.result, width, [=](std::int32_t row, std::int32_t x) {
    const std::int32_t* const tap = taps + std::int64_t{x} * words;
    const std::uint16_t* const first =
        lines + std::int64_t{row} * row_values + std::int64_t{tap[0]} * channels;
    std::uint8_t* const out = to + (std::int64_t{row} * width + x) * channels;
    for (std::int32_t c = 0; c < channels; ++c) {
      std::uint32_t sum = 1U << 23U;
      for (std::int32_t k = 0; k < tap[1]; ++k)
        sum += static_cast<std::uint32_t>(tap[2 + k]) * first[std::int64_t{k} * channels + c];
      out[c] = static_cast<std::uint8_t>(sum >> 24U);
    }
  });
  team.sync();
}

/// Scales a part of an image, without the pixels around it, to `height` x `width`.
template <class Team>
LEARN_HD void resize(const Team& team,
                     WorkImage& image,
                     const Window& window,
                     std::int32_t height,
                     std::int32_t width) {
  const std::int64_t stride = std::int64_t{image.width} * image.channels;
  resize(team,
         ResizeSource{image.now + window.top * stride + std::int64_t{window.left} * image.channels,
                      stride},
         image.channels,
         scaled(window.height, height),
         scaled(window.width, width),
         ResizeMemory{image.lines, image.taps},
         image.next);
  image.height = height;
  image.width = width;
  image.swap();
}

/// Applies a change other than a resize, whose colours need 1 or 3 channels.
template <class Team>
LEARN_HD void change_image(const Team& team, const Change& change, WorkImage& image) {
  using Kind = Change::Kind;
  const float factor = change.factor;
  const std::int32_t count = change.count;
  switch (change.kind) {
    case Kind::brightness:
      change_bytes(
          team, image, [=](std::uint8_t v) { return to_byte(factor * static_cast<float>(v)); });
      break;
    case Kind::contrast:
      change_contrast(team, image, factor);
      break;
    case Kind::saturation: {
      const float rest = 1 - factor;
      if (image.channels == 3)
        change_colours(team, image, [=](std::uint8_t* p) {
          const float gray = rest * static_cast<float>(gray_of(p[0], p[1], p[2]));
          for (int c = 0; c < 3; ++c) p[c] = to_byte(factor * static_cast<float>(p[c]) + gray);
        });
      break;
    }
    case Kind::hue:
      if (image.channels == 3)
        change_colours(team, image, [=](std::uint8_t* p) { shift_hue(p, factor); });
      break;
    case Kind::gray:
      if (image.channels == 3)
        change_colours(team, image, [=](std::uint8_t* p) {
          const auto gray = static_cast<std::uint8_t>(gray_of(p[0], p[1], p[2]));
          p[0] = p[1] = p[2] = gray;
        });
      break;
    case Kind::invert:
      change_bytes(team, image, [=](std::uint8_t v) { return static_cast<std::uint8_t>(255 - v); });
      break;
    case Kind::posterize: {
      const auto mask = static_cast<std::uint8_t>(0xFF00U >> static_cast<std::uint32_t>(count));
      change_bytes(
          team, image, [=](std::uint8_t v) { return static_cast<std::uint8_t>(v & mask); });
      break;
    }
    case Kind::solarize:
      change_bytes(team, image, [=](std::uint8_t v) {
        return static_cast<std::uint8_t>(v >= count ? 255 - v : v);
      });
      break;
    case Kind::equalize:
    case Kind::autocontrast:
      change_by_histogram(team, image, change.kind == Kind::equalize);
      break;
    case Kind::sharpness:
      change_sharpness(team, image, factor);
      break;
    case Kind::blur:
      blur(team, image, change);
      break;
    case Kind::affine:
      move_pixels(team, image, change.map, change.smooth);
      break;
    case Kind::none:
    case Kind::resize:
      break;
  }
  team.sync();
}

}  // namespace learn::image
