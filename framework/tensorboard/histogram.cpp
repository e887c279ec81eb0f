#include "framework/tensorboard/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace learn::tensorboard {
namespace {

/// Floats with equal leading bits lie between the same two or three limits.
constexpr unsigned kLeadingBits = 12;
constexpr unsigned kOtherBits = 32 - kLeadingBits;
constexpr std::uint32_t kSign = 0x80000000U;

std::size_t bucket_of(double value) {
  const std::vector<double>& limits = bucket_limits();
  return static_cast<std::size_t>(std::ranges::upper_bound(limits, value) - limits.begin());
}

/// Returns the bucket of the lowest float for each value of the leading bits.
std::vector<std::uint16_t> make_first_buckets() {
  std::vector<std::uint16_t> first(std::size_t{1} << kLeadingBits);
  for (std::uint32_t leading = 0; leading < first.size(); ++leading) {
    std::uint32_t bits = leading << kOtherBits;
    if ((bits & kSign) != 0) bits |= (1U << kOtherBits) - 1;
    const auto lowest = std::bit_cast<float>(bits);
    if (std::isfinite(lowest))
      first[leading] = static_cast<std::uint16_t>(bucket_of(static_cast<double>(lowest)));
  }
  return first;
}

/// Keeps the buckets from the first to the last that is not empty.
void keep_filled(const std::vector<std::int64_t>& counts, Histogram& out) {
  const std::vector<double>& limits = bucket_limits();
  std::size_t end = counts.size();
  while (end > 0 && counts[end - 1] == 0) --end;
  for (std::size_t i = 0; i < end; ++i) {
    if (counts[i] == 0 && (out.counts.empty() || counts[i + 1] == 0)) continue;
    out.limits.push_back(limits[i]);
    out.counts.push_back(static_cast<double>(counts[i]));
  }
}

}  // namespace

const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    constexpr double kSmallest = 1e-12, kLargest = 1e20, kFactor = 1.1;
    std::vector<double> positive;
    for (double limit = kSmallest; limit < kLargest; limit *= kFactor) positive.push_back(limit);
    positive.push_back(std::numeric_limits<double>::max());
    std::vector<double> all;
    for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) all.push_back(-*limit);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}

Histogram histogram(std::span<const float> values) {
  static const std::vector<std::uint16_t> first = make_first_buckets();
  const std::vector<double>& limits = bucket_limits();
  std::vector<std::int64_t> counts(limits.size());
  Histogram out{.min = std::numeric_limits<double>::infinity(),
                .max = -std::numeric_limits<double>::infinity()};
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++out.not_finite;
      continue;
    }
    const auto x = static_cast<double>(value);
    std::size_t bucket = first[std::bit_cast<std::uint32_t>(value) >> kOtherBits];
    while (x >= limits[bucket]) ++bucket;
    ++counts[bucket];
    ++out.finite;
    out.min = std::min(out.min, x);
    out.max = std::max(out.max, x);
    out.sum += x;
    out.sum_squares += x * x;
  }
  if (out.finite == 0) out.min = out.max = 0;
  keep_filled(counts, out);
  return out;
}

}  // namespace learn::tensorboard
