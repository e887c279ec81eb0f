#include "data/duplicates.h"

#include "framework/core/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>

namespace learn::data {
namespace {

/// Hashes eight bytes at a time. The hash need not resist attacks, because images with equal hashes
/// are compared.
std::uint64_t hash_of(std::span<const std::uint8_t> bytes) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  std::uint64_t hash = bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, &bytes[at], std::min(sizeof word, bytes.size() - at));
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 29U;
  }
  return hash;
}

/// Finds images by their pixels.
class Index {
 public:
  explicit Index(const Dataset& set) : set_(set) {
    places_.reserve(static_cast<std::size_t>(set.size()));
  }

  [[nodiscard]] std::optional<std::int64_t> find(std::span<const std::uint8_t> pixels) {
    const auto [begin, end] = places_.equal_range(hash_of(pixels));
    for (auto at = begin; at != end; ++at)
      if (std::ranges::equal(set_.read_image(at->second, found_), pixels)) return at->second;
    return std::nullopt;
  }

  /// Adds image `i`, or returns an earlier one with the same pixels, which stays the only entry,
  /// because a set may hold one image ten thousand times.
  std::int64_t add(std::int64_t i) {
    const std::span<const std::uint8_t> pixels = set_.read_image(i, added_);
    const std::optional<std::int64_t> there = find(pixels);
    if (!there) places_.emplace(hash_of(pixels), i);
    return there.value_or(i);
  }

 private:
  const Dataset& set_;
  std::unordered_multimap<std::uint64_t, std::int64_t> places_;
  std::vector<std::uint8_t> found_;  // if the images are not in memory
  std::vector<std::uint8_t> added_;
};

}  // namespace

std::vector<EqualImages> repeated(const Dataset& set) {
  std::vector<EqualImages> pairs;
  Index index(set);
  for (std::int64_t i = 0; i < set.size(); ++i)
    if (const std::int64_t first = index.add(i); first != i) pairs.push_back({first, i});
  return pairs;
}

std::vector<EqualImages> in_both(const Dataset& train, const Dataset& valid) {
  std::vector<EqualImages> pairs;
  if (!(train.form() == valid.form()) || !train.features.empty()) return pairs;
  // Only the validation images are indexed, which are fewer.
  Index index(valid);
  std::vector<std::int64_t> same;  // for each image, the first one with its pixels
  for (std::int64_t i = 0; i < valid.size(); ++i) same.push_back(index.add(i));
  std::vector<std::int64_t> first_in_train(same.size(), -1);
  std::vector<std::uint8_t> memory;
  for (std::int64_t i = 0; i < train.size(); ++i)
    if (const auto found = index.find(train.read_image(i, memory)))
      if (auto& first = first_in_train[static_cast<std::size_t>(*found)]; first < 0) first = i;
  for (std::size_t i = 0; i < same.size(); ++i)
    if (const auto first = first_in_train[static_cast<std::size_t>(same[i])]; first >= 0)
      pairs.push_back({first, static_cast<std::int64_t>(i)});
  return pairs;
}

void warn_of_images_in_both(const DataPair& pair) {
  if (pair.train.source != nullptr || pair.valid.source != nullptr) return;
  const std::vector<EqualImages> both = in_both(pair.train, pair.valid);
  if (both.empty()) return;
  std::string examples;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, both.size()); ++i)
    examples += fmt::format("\n  {} is {}",
                            image_name(pair.valid, both[i].second),
                            image_name(pair.train, both[i].first));
  log::warn(
      "[data] {} of {} validation images of '{}' are also training images, so the results are too "
      "good; 'learn data verify' lists them:{}{}",
      both.size(),
      pair.valid.size(),
      pair.valid.name,
      examples,
      both.size() > 2 ? fmt::format("\n  and {} more", both.size() - 2) : "");
}

std::string image_name(const Dataset& set, std::int64_t i) {
  if (!set.files.empty()) return set.files[static_cast<std::size_t>(i)];
  return fmt::format("image {} of the {} part", i, set.split == Split::train ? "training" : "test");
}

}  // namespace learn::data
