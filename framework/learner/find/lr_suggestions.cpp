#include "framework/learner/find/lr_suggestions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace learn {
namespace {

using Numbers = std::vector<float>;

/// The longest falling subsequence, which may leave out values between; a position in it.
std::optional<double> valley(const Numbers& lrs, const Numbers& losses) {
  const std::size_t count = losses.size();
  if (count == 0) return {};
  std::vector<std::int64_t> length(count, 1);
  std::size_t end = 0;
  std::int64_t start = 0;
  for (std::size_t i = 1; i < count; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (losses[i] < losses[j] && length[i] < length[j] + 1) length[i] = length[j] + 1;
      if (length[end] < length[i]) {
        end = i;
        start = static_cast<std::int64_t>(i) - length[i];
      }
    }
  const double third = static_cast<double>(static_cast<std::int64_t>(end) - start) / 3;
  std::int64_t at = start + static_cast<std::int64_t>(third) + static_cast<std::int64_t>(third / 2);
  if (at < 0) at += static_cast<std::int64_t>(count);  // Python's index from the end
  return static_cast<double>(lrs[static_cast<std::size_t>(at)]);
}

/// numpy.gradient: central differences, one-sided at both ends.
Numbers gradient(const Numbers& values) {
  const std::size_t last = values.size() - 1;
  Numbers out(values.size());
  out[0] = values[1] - values[0];
  out[last] = values[last] - values[last - 1];
  for (std::size_t i = 1; i < last; ++i) out[i] = (values[i + 1] - values[i - 1]) / 2;
  return out;
}

/// Slides a window from the right while the slopes at its two ends differ by more than a threshold.
std::optional<double> slide(const Numbers& lrs, const Numbers& losses) {
  constexpr std::size_t kWindow = 15;
  constexpr float kThreshold = 0.005F;
  if (losses.size() <= kWindow) return {};
  const Numbers slopes = gradient(losses);
  std::size_t left = losses.size() - kWindow;  // one after the window's left end
  float found = lrs[left - 1];
  for (; left > 0 && std::fabs(slopes[left - 1 + kWindow] - slopes[left - 1]) > kThreshold; --left)
    found = lrs[left - 1];
  return static_cast<double>(found);
}

std::optional<double> minimum(const Numbers& lrs, const Numbers& losses) {
  if (losses.empty()) return {};
  const auto lowest = std::min_element(losses.begin(), losses.end()) - losses.begin();
  return static_cast<double>(lrs[static_cast<std::size_t>(lowest)]) / 10;
}

std::optional<double> steep(const Numbers& lrs, const Numbers& losses) {
  if (losses.size() < 2) return {};
  Numbers slopes;
  for (std::size_t i = 1; i < losses.size(); ++i)
    slopes.push_back((losses[i] - losses[i - 1]) / (std::log(lrs[i]) - std::log(lrs[i - 1])));
  const auto steepest = std::min_element(slopes.begin(), slopes.end()) - slopes.begin();
  return static_cast<double>(lrs[static_cast<std::size_t>(steepest)]);
}

double fall(const Numbers& losses) {
  float highest = 0, most = 0;
  for (const float loss : losses) {
    highest = std::max(highest, loss);
    if (highest > 0) most = std::max(most, (highest - loss) / highest);
  }
  return static_cast<double>(most);
}

}  // namespace

std::array<std::pair<std::string_view, std::optional<double>>, 4> LrSuggestions::named() const {
  return {{{"valley", valley}, {"slide", slide}, {"minimum", minimum}, {"steep", steep}}};
}

LrSuggestions suggest_lrs(const std::vector<double>& lrs,
                          const std::vector<double>& losses,
                          std::int64_t iterations) {
  constexpr std::int64_t kLeftOutAtEnd = 5;
  Numbers rates;
  Numbers curve;
  const auto end = static_cast<std::int64_t>(losses.size()) - kLeftOutAtEnd;
  for (std::int64_t i = iterations / 10; i < end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (std::isnan(losses[at])) break;
    rates.push_back(static_cast<float>(lrs[at]));
    curve.push_back(static_cast<float>(losses[at]));
  }
  return {.valley = valley(rates, curve),
          .slide = slide(rates, curve),
          .minimum = minimum(rates, curve),
          .steep = steep(rates, curve),
          .fall = fall(curve)};
}

}  // namespace learn
