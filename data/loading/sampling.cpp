#include "data/loading/sampling.h"

#include "data/loading/epoch_order.h"
#include "framework/core/error.h"

#include <algorithm>
#include <cmath>

namespace learn::data {
namespace {

std::vector<double> balanced(const Dataset& dataset) {
  if (dataset.target_kind != TargetKind::classes)
    fail<UsageError>("balanced sampling needs classes, which '{}' does not have", dataset.name);
  const std::vector<std::int64_t> counts = class_counts(dataset);
  std::vector<double> weights;
  weights.reserve(dataset.labels.size());
  for (const std::int64_t label : dataset.labels)
    weights.push_back(1 / static_cast<double>(counts[static_cast<std::size_t>(label)]));
  return weights;
}

/// Returns the cumulative sums of the weights.
std::vector<double> cumulative(const Dataset& dataset, const std::vector<double>& weights) {
  if (static_cast<std::int64_t>(weights.size()) != dataset.size())
    fail<UsageError>("weighted sampling: {} weights for the {} samples of '{}'",
                     weights.size(),
                     dataset.size(),
                     dataset.name);
  std::vector<double> sums;
  sums.reserve(weights.size());
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight))
      fail<UsageError>("weighted sampling: weight {} of sample {} must be finite and not negative",
                       weight,
                       sums.size());
    sum += weight;
    sums.push_back(sum);
  }
  if (!(sum > 0) || !std::isfinite(sum))
    fail<UsageError>(
        "weighted sampling: the sum of the weights must be positive and finite, not {}", sum);
  return sums;
}

}  // namespace

std::vector<float> class_weights(const Dataset& dataset) {
  const std::vector<std::int64_t> counts = class_counts(dataset);
  const bool labels = dataset.target_kind == TargetKind::labels;
  const auto samples = static_cast<double>(dataset.size());
  std::vector<float> weights;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] == 0 || (labels && counts[c] == dataset.size()))
      fail<DataError>("{} of the {} samples of '{}' have the {} '{}', so its weight is undefined",
                      counts[c] == 0 ? "none" : "all",
                      dataset.size(),
                      dataset.name,
                      labels ? "label" : "class",
                      dataset.classes[c]);
    const auto count = static_cast<double>(counts[c]);
    weights.push_back(
        static_cast<float>(labels ? (samples - count) / count
                                  : samples / (static_cast<double>(counts.size()) * count)));
  }
  return weights;
}

PassOrder::PassOrder(const Dataset& dataset,
                     const Sampling& sampling,
                     bool shuffle,
                     std::uint64_t seed)
    : samples_(dataset.size()), size_(dataset.size()), shuffle_(shuffle), seed_(seed) {
  std::int64_t wanted = 0;
  if (const auto* weighted = std::get_if<WeightedSampling>(&sampling)) {
    cumulative_ = cumulative(dataset, weighted->weights);
    wanted = weighted->samples;
  } else if (const auto* by_class = std::get_if<BalancedSampling>(&sampling)) {
    cumulative_ = cumulative(dataset, balanced(dataset));
    wanted = by_class->samples;
  }
  if (wanted < 0)
    fail<UsageError>("{} samples per pass are below 0 (0: as many as the data set has)", wanted);
  if (wanted > 0) size_ = wanted;
}

std::vector<std::int64_t> PassOrder::draws(std::int64_t epoch) const {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size_));
  if (cumulative_.empty()) {
    set_epoch_order(order, shuffle_, seed_, epoch);
    return order;
  }
  std::vector<std::int64_t> times(static_cast<std::size_t>(samples_));
  const double total = cumulative_.back();
  Random4 words{};
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % 2 == 0)
      words = random4(seed_, RandomPurpose::shuffle, static_cast<std::uint64_t>(epoch), i / 2);
    const std::uint64_t bits =
        (std::uint64_t{words.v[2 * (i % 2)]} << 21U) | (words.v[2 * (i % 2) + 1] >> 11U);
    const double place = static_cast<double>(bits) * 0x1p-53 * total;
    auto at = std::upper_bound(cumulative_.begin(), cumulative_.end(), place);
    // The product may be rounded up to the total, which means the last sample with a weight.
    if (at == cumulative_.end()) at = std::lower_bound(cumulative_.begin(), at, total);
    const std::int64_t sample = at - cumulative_.begin();
    order[i] = sample + samples_ * times[static_cast<std::size_t>(sample)]++;
  }
  return order;
}

}  // namespace learn::data
