#include "data/sets/synthetic10.h"

#include "data/files/in_parallel.h"
#include "framework/core/error.h"

#include <algorithm>
#include <array>

namespace learn::data {
namespace {

using i64 = std::int64_t;
using u64 = std::uint64_t;

constexpr i64 kSide = 32;
constexpr i64 kPlane = kSide * kSide;
constexpr i64 kPixel = 256;  // positions are in 1/256 pixel
constexpr i64 kUnit = 4096;  // shapes live in a square of +-kUnit
/// SplitMix64 (Steele, Lea, Flood 2014). The generator is part of the data set's definition: its
/// checksums are pinned by the tests.
struct Rng {
  u64 state;
  u64 next() {
    u64 z = (state += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// Returns a uniform number in [low, high].
  i64 range(i64 low, i64 high) {
    const auto span = static_cast<u64>(high - low + 1);
    return low + static_cast<i64>(((next() >> 32U) * span) >> 32U);
  }
};

u64 mix(u64 a, u64 b) {
  Rng rng{a * 0xD6E8FEB86659FD93U + b};
  rng.next();
  return rng.next();
}

i64 magnitude(i64 v) { return v < 0 ? -v : v; }

constexpr i64 percent(i64 p) { return kUnit * p / 100; }

/// Upright triangle with its base at -1/2 and its tip at 1; 1732/1000 approximates sqrt(3).
bool in_triangle(i64 x, i64 y) {
  return y >= -kUnit / 2 && 1732 * magnitude(x) + 1000 * y <= 1000 * kUnit;
}

bool inside(int label, i64 x, i64 y) {
  const i64 r2 = x * x + y * y;
  const i64 ax = magnitude(x);
  const i64 ay = magnitude(y);
  const i64 far = std::max(ax, ay);
  const i64 square = kUnit * kUnit;
  switch (label) {
    case 0:
      return r2 <= square * 81 / 100;
    case 1:
      return r2 <= square && r2 >= square * 36 / 100;
    case 2:
      return far <= percent(76);
    case 3:
      return far <= percent(84) && far >= percent(48);
    case 4:
      return in_triangle(x, y);
    case 5:
      return std::min(ax, ay) <= percent(27) && far <= percent(95);
    case 6:
      return in_triangle(x, y) || in_triangle(x, -y);
    case 7: {
      const i64 dx = x - percent(45);
      return r2 <= square && dx * dx + y * y >= square * 64 / 100;
    }
    case 8:
      return ax <= percent(90) && (ay <= percent(18) || (ay >= percent(54) && ay <= percent(90)));
    default:
      return (ax <= percent(22) && y <= 0 && y >= -percent(95)) ||
             (y >= 0 && y <= percent(95) && ax * 10 <= (percent(95) - y) * 9);
  }
}

/// Parameters that differ between the levels.
struct Difficulty {
  i64 contrast_low, contrast_high;
  i64 radius_low, radius_high;  // pixels
  i64 center_low, center_high;
  i64 tilt;           // largest tangent of half the rotation, in 1/1000
  bool quarter_turn;  // plus any multiple of 90 degrees
  i64 lines, blobs, noise;
};

constexpr Difficulty kNormal{45, 140, 8, 13, 12, 20, 300, false, 2, 1, 12};
constexpr Difficulty kHard{26, 110, 6, 12, 11, 21, 1000, true, 3, 2, 18};

using Color = std::array<i64, 3>;

struct Line {
  i64 x, y, dx, dy, width;
  Color color;
  [[nodiscard]] bool covers(i64 px, i64 py) const {
    const i64 cross = (px - x) * dy - (py - y) * dx;
    return cross * cross <= width * width * (dx * dx + dy * dy) / 4;
  }
};

struct Blob {
  i64 x, y, radius;
  Color color;
  [[nodiscard]] bool covers(i64 px, i64 py) const {
    return (px - x) * (px - x) + (py - y) * (py - y) <= radius * radius;
  }
};

/// All random choices of one image. The order of the draws is part of the format.
struct Scene {
  Color background_a{}, background_b{}, foreground{};
  i64 radius, center_x, center_y;
  i64 cosine, sine, scale;  // rotation by rational numbers: cosine / scale, sine / scale
  int quarters = 0;
  i64 aspect, shear;
  std::array<std::array<std::array<i64, 5>, 5>, 3> lattice{};
  i64 texture, texture_period, gradient_x, gradient_y;
  std::array<Line, 3> lines{};
  std::array<Blob, 2> blobs{};
  i64 line_count, blob_count, noise;

  Scene(Rng& rng, const Difficulty& d) {
    draw_colors(rng, d);
    radius = rng.range(d.radius_low * kPixel, d.radius_high * kPixel);
    center_x = rng.range(d.center_low * kPixel, d.center_high * kPixel);
    center_y = rng.range(d.center_low * kPixel, d.center_high * kPixel);
    const i64 t = rng.range(-d.tilt, d.tilt);
    scale = 1'000'000 + t * t;
    cosine = 1'000'000 - t * t;
    sine = 2000 * t;
    if (d.quarter_turn) quarters = static_cast<int>(rng.next() >> 62U);
    aspect = rng.range(80, 125);
    shear = rng.range(-25, 25);
    const i64 amplitude = rng.range(6, 34);
    for (auto& plane : lattice)
      for (auto& row : plane)
        for (i64& v : row) v = rng.range(-amplitude, amplitude);
    texture = rng.range(0, 24);
    texture_period = rng.range(2, 5);
    gradient_x = rng.range(-16, 16);
    gradient_y = rng.range(-16, 16);
    draw_clutter(rng, d);
  }

  void draw_colors(Rng& rng, const Difficulty& d) {
    for (std::size_t k = 0; k < 3; ++k) {
      background_a[k] = rng.range(20, 235);
      background_b[k] = rng.range(20, 235);
    }
    const i64 contrast = rng.range(d.contrast_low, d.contrast_high);
    for (std::size_t k = 0; k < 3; ++k) {
      const i64 middle = (background_a[k] + background_b[k]) / 2;
      const i64 offset = contrast * rng.range(30, 100) / 100;
      bool brighter = (rng.next() >> 63U) != 0;
      if (middle + offset > 245) brighter = false;
      if (middle - offset < 10) brighter = true;
      foreground[k] = brighter ? middle + offset : middle - offset;
    }
  }

  void draw_clutter(Rng& rng, const Difficulty& d) {
    const auto position = [&] { return rng.range(0, kSide * kPixel); };
    line_count = rng.range(0, d.lines);
    for (Line& line : active_lines()) {
      line.x = position();
      line.y = position();
      line.dx = rng.range(-100, 100);
      line.dy = rng.range(-100, 100);
      if (line.dx == 0 && line.dy == 0) line.dx = 1;
      line.width = rng.range(90, 260);
      for (i64& k : line.color) k = rng.range(10, 245);
    }
    blob_count = rng.range(0, d.blobs);
    for (Blob& blob : active_blobs()) {
      blob.x = position();
      blob.y = position();
      blob.radius = rng.range(2 * kPixel, 5 * kPixel);
      for (i64& k : blob.color) k = rng.range(10, 245);
    }
    noise = rng.range(2, d.noise);
  }

  std::span<Line> active_lines() { return {lines.data(), static_cast<std::size_t>(line_count)}; }
  std::span<Blob> active_blobs() { return {blobs.data(), static_cast<std::size_t>(blob_count)}; }

  /// Returns the number of the pixel's 4x4 points that are inside the shape.
  [[nodiscard]] i64 coverage(int label, i64 px, i64 py) const {
    i64 count = 0;
    for (i64 sub_y = 0; sub_y < 4; ++sub_y)
      for (i64 sub_x = 0; sub_x < 4; ++sub_x) {
        const i64 from_x = px * kPixel + sub_x * 64 + 32 - center_x;
        const i64 from_y = py * kPixel + sub_y * 64 + 32 - center_y;
        i64 x = (cosine * from_x - sine * from_y) / scale;
        i64 y = (sine * from_x + cosine * from_y) / scale;
        for (int q = 0; q < quarters; ++q) {
          const i64 before = x;
          x = -y;
          y = before;
        }
        x += y * shear / 100;
        x = x * kUnit * aspect / (radius * 100);
        y = y * kUnit * 100 / (radius * aspect);
        if (inside(label, x, y)) ++count;
      }
    return count;
  }

  [[nodiscard]] i64 background(std::size_t k, i64 px, i64 py) const {
    const i64 weight =
        std::clamp<i64>(256 + gradient_x * (px - 16) + gradient_y * (py - 16), 0, 512);
    const i64 fx = px * 4 % 32;
    const i64 fy = py * 4 % 32;
    const auto column = static_cast<std::size_t>(px * 4 / 32);
    const auto row = static_cast<std::size_t>(py * 4 / 32);
    const auto& above = lattice[k][row];
    const auto& below = lattice[k][row + 1];
    const i64 cloud = (above[column] * (32 - fy) * (32 - fx) + above[column + 1] * (32 - fy) * fx +
                       below[column] * fy * (32 - fx) + below[column + 1] * fy * fx) /
                      1024;
    return (background_a[k] * (512 - weight) + background_b[k] * weight) / 512 + cloud;
  }

  /// Returns the colour before noise. `covered` is out of 16.
  [[nodiscard]] i64 color(std::size_t k, i64 px, i64 py, i64 covered) const {
    const bool light = ((px / texture_period + py / texture_period) & 1) != 0;
    const i64 shape = foreground[k] + (light ? texture : -texture) / 2;
    i64 v = (background(k, px, py) * (16 - covered) + shape * covered) / 16;
    const i64 mid_x = px * kPixel + kPixel / 2;
    const i64 mid_y = py * kPixel + kPixel / 2;
    for (i64 i = 0; i < line_count; ++i) {
      const Line& line = lines[static_cast<std::size_t>(i)];
      if (line.covers(mid_x, mid_y)) v = line.color[k];
    }
    for (i64 i = 0; i < blob_count; ++i) {
      const Blob& blob = blobs[static_cast<std::size_t>(i)];
      if (blob.covers(mid_x, mid_y)) v = blob.color[k];
    }
    return v;
  }
};

u64 split_number(Split split) { return split == Split::train ? 0 : 1; }

i64 split_size(Split split) { return split == Split::train ? kSyntheticTrain : kSyntheticTest; }

}  // namespace

std::uint8_t synthetic_label(u64 seed, Split split, i64 index) {
  const u64 key = mix(seed ^ 0x1ABE1U, (split_number(split) << 32U) | static_cast<u64>(index / 10));
  constexpr u64 kTenFactorial = 3'628'800;
  Rng rng{key % kTenFactorial};
  std::array<std::uint8_t, 10> order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (std::size_t j = 9; j > 0; --j)
    std::swap(order[j], order[static_cast<std::size_t>(rng.range(0, static_cast<i64>(j)))]);
  return order[static_cast<std::size_t>(index % 10)];
}

void draw_synthetic(
    SyntheticLevel level, u64 seed, Split split, i64 index, std::span<std::uint8_t, 3072> planes) {
  const u64 part = split_number(split);
  const int label = synthetic_label(seed, split, index);
  Rng rng{mix(mix(seed, part + 1), static_cast<u64>(index) + 1)};
  const Scene scene(rng, level == SyntheticLevel::hard ? kHard : kNormal);
  const u64 noise_key = mix(seed ^ 0xA5A5U, part * 1'000'003U + static_cast<u64>(index));
  for (i64 py = 0; py < kSide; ++py)
    for (i64 px = 0; px < kSide; ++px) {
      const i64 covered = scene.coverage(label, px, py);
      for (std::size_t k = 0; k < 3; ++k) {
        const auto at = k * kPlane + static_cast<std::size_t>(py * kSide + px);
        Rng grain{mix(noise_key, at)};
        i64 sum = 0;  // four uniform draws are nearly normal; 87/150 makes noise the deviation
        for (int j = 0; j < 4; ++j) sum += grain.range(-scene.noise, scene.noise);
        const i64 v = scene.color(k, px, py, covered) + sum * 87 / 150;
        planes[at] = static_cast<std::uint8_t>(std::clamp<i64>(v, 0, 255));
      }
    }
}

Dataset synthetic10(const SyntheticOptions& options) {
  const i64 all = split_size(options.split);
  const i64 count = options.count == 0 ? all - options.first : options.count;
  if (options.first < 0 || count <= 0 || options.first + count > all)
    fail<UsageError>("synthetic10 has images 0 to {}, not {} to {}",
                     all - 1,
                     options.first,
                     options.first + count - 1);
  Dataset out;
  out.name = options.level == SyntheticLevel::hard ? "synthetic10-hard" : "synthetic10";
  out.synthetic = true;
  out.split = options.split;
  out.height = out.width = kSide;
  out.classes = synthetic_classes();
  out.labels.resize(static_cast<std::size_t>(count));
  out.pixels.resize(static_cast<std::size_t>(count * 3 * kPlane));
  in_parallel(count, options.threads, options.progress, [&](i64 i) {
    const i64 index = options.first + i;
    std::array<std::uint8_t, 3 * kPlane> planes;
    draw_synthetic(options.level, options.seed, options.split, index, planes);
    out.labels[static_cast<std::size_t>(i)] = synthetic_label(options.seed, options.split, index);
    std::uint8_t* to = &out.pixels[static_cast<std::size_t>(i * 3 * kPlane)];
    for (std::size_t p = 0; p < kPlane; ++p)
      for (std::size_t k = 0; k < 3; ++k) *to++ = planes[k * kPlane + p];
  });
  return out;
}

}  // namespace learn::data
