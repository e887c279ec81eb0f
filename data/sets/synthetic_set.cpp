// The data sets "synthetic10" and "synthetic10-hard".
#include "data/sets/fixed_parts.h"
#include "data/sets/image_options.h"
#include "data/sets/synthetic10.h"
#include "framework/core/error.h"

#include <algorithm>
#include <utility>

namespace learn::data {
namespace {

DataPair load_synthetic(SyntheticLevel level, const DataOptions& options) {
  refuse_directory("computed data", options);
  // Any prefix of the set is balanced, so only the images that are needed are drawn.
  const bool whole = !options.classes.empty() || options.valid_fraction.has_value();
  const auto draw = [&](Split split, std::int64_t limit, std::int64_t all) {
    if (limit < 0) fail<UsageError>("the number of images must be 0 (all) or more, not {}", limit);
    Dataset drawn = synthetic10({.level = level,
                                 .split = split,
                                 .count = whole ? 0 : std::min(limit, all),
                                 .threads = options.threads,
                                 .progress = options.progress});
    if (drawn.size() < all) drawn.drawn_from = all;
    return drawn;
  };
  if (options.evaluation)
    return for_evaluation(draw(Split::test, options.valid_limit, kSyntheticTest), options);
  Dataset train = draw(Split::train, options.train_limit, kSyntheticTrain);
  if (options.valid_fraction.has_value()) {
    DataPair pair = split_off(train, *options.valid_fraction, options.seed);
    return narrowed(std::move(pair.train), std::move(pair.valid), options);
  }
  return narrowed(
      std::move(train), draw(Split::test, options.valid_limit, kSyntheticTest), options);
}

}  // namespace

void register_synthetic10(DataRegistry& registry) {
  registry.add(
      "synthetic10",
      "ten drawn shapes in CIFAR-10's format, computed without files",
      [](const DataOptions& options) { return load_synthetic(SyntheticLevel::normal, options); });
  registry.add(
      "synthetic10-hard",
      "the same, fainter, smaller, at all angles, with more clutter",
      [](const DataOptions& options) { return load_synthetic(SyntheticLevel::hard, options); });
}

}  // namespace learn::data
