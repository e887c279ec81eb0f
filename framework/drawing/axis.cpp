#include "framework/drawing/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace learn::plot {
namespace {

constexpr std::array<const char*, 10> kSuperscripts{
    "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};

std::string superscript(int exponent) {
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent)))
    text += kSuperscripts[static_cast<std::size_t>(digit - '0')];
  return text;
}

/// Returns the exponent of the largest power of ten that is not above the value.
int exponent_of(double value) {
  return static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
}

/// Range of plain notation. Numbers outside it are written with a power of ten, unless that takes
/// more than `kMaxDigits` digits.
constexpr int kMinPlainExponent = -4;
constexpr int kMaxPlainExponent = 5;
constexpr int kMaxDigits = 4;

std::string with_power(double value, int exponent, int digits) {
  const double mantissa = value / std::pow(10, exponent);
  if (digits == 0 && std::abs(mantissa - 1) < 1e-9)
    return fmt::format("10{}", superscript(exponent));
  return fmt::format("{:.{}f}×10{}", mantissa, digits, superscript(exponent));
}

/// Returns the label of a tick at `digit` times a power of ten.
std::string log_label(int digit, int exponent, bool plain) {
  if (!plain) return with_power(digit * std::pow(10, exponent), exponent, 0);
  return fmt::format("{:.{}f}", digit * std::pow(10, exponent), std::max(0, -exponent));
}

/// Returns a round step close to `rough`, or above it.
double round_step(double rough) {
  constexpr double kClose = 0.8;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= kClose * rough) return factor * power;
  return 10 * power;
}

}  // namespace

double Axis::place(double value) const {
  if (log) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

bool Axis::shows(double value) const { return std::isfinite(value) && (!log || value > 0); }

std::string number_label(double value, double step, double largest) {
  if (std::abs(value) < step * 1e-6) return "0";
  const int last = exponent_of(step), first = std::max(last, exponent_of(largest));
  const bool plain = first >= kMinPlainExponent && first <= kMaxPlainExponent;
  constexpr int kMaxWrittenOut = 12;  // largest exponent of a number written out
  if (plain || (first - last > kMaxDigits && std::abs(first) <= kMaxWrittenOut))
    return fmt::format("{:.{}f}", value, std::max(0, -last));
  return with_power(value, first, first - last);
}

Axis linear_axis(double low, double high, int count, bool integer) {
  if (!(high - low > 1e-12 * std::max(std::abs(low), std::abs(high)))) {
    const double around = low == 0 ? 1 : std::abs(low) * 0.1;
    // Most values cannot be negative; an axis around zero would suggest that they can.
    if (low != 0) low -= around;
    high += around;
  }
  if (integer) {
    // The first epoch's batches start slightly after 0.
    constexpr double kClose = 0.03;
    const double close = kClose * (high - low);
    if (low - std::floor(low) < close) low = std::floor(low);
    if (std::ceil(high) - high < close) high = std::ceil(high);
  }
  const double rough = (high - low) / std::max(1, count);
  const double step = integer ? std::max(1.0, round_step(rough)) : round_step(rough);
  Axis axis{low, high, false, {}};
  // Counted, not summed, because rounding errors of repeated addition would grow.
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  const double largest = std::max(std::abs(first), std::abs(last)) * step;
  for (double i = first; i <= last; ++i)
    axis.ticks.push_back({i * step, number_label(i * step, step, largest)});
  return axis;
}

Axis count_axis(std::int64_t most, int count) {
  const auto high = static_cast<double>(std::max<std::int64_t>(1, most));
  const double step = std::max(1.0, round_step(high / std::max(1, count)));
  const double steps = std::ceil(high / step - 1e-9);
  Axis axis{0, steps * step, false, {}};
  for (double i = 0; i <= steps; ++i)
    axis.ticks.push_back({i * step, number_label(i * step, step, axis.high)});
  return axis;
}

Axis log_axis(double low, double high, int count) {
  if (!(high > low * (1 + 1e-9))) {
    low /= 2;
    high *= 2;
  }
  const double decades = std::log10(high) - std::log10(low);
  constexpr double kFewDecades = 0.8;
  if (decades < kFewDecades) {
    Axis axis = linear_axis(low, high, count);
    axis.log = true;
    return axis;
  }
  Axis axis{low, high, true, {}};
  count = std::max(1, count);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / count)));
  const bool between = decades * 2.5 <= count;  // room for labels at 2 and 5
  constexpr double kPlainLow = 1e-3, kPlainHigh = 1e5;
  const bool plain = low >= kPlainLow * (1 - 1e-9) && high < kPlainHigh;
  const auto inside = [&](double value) {
    return value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
  };
  for (int exponent = exponent_of(low); exponent <= exponent_of(high); ++exponent) {
    const double power = std::pow(10, exponent);
    for (int digit = 1; digit <= 9; ++digit) {
      if (!inside(digit * power) || (every > 1 && digit > 1)) continue;
      const bool labelled =
          digit == 1 ? exponent % every == 0 : between && (digit == 2 || digit == 5);
      axis.ticks.push_back({digit * power, labelled ? log_label(digit, exponent, plain) : ""});
    }
  }
  return axis;
}

}  // namespace learn::plot
