#include "data/dataset.h"

#include "data/images/resize.h"
#include "framework/core/error.h"
#include "framework/core/printable.h"
#include "framework/core/random.h"
#include "framework/io/digest.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace learn::data {
namespace {

/// Returns positions [0, n) in an order drawn from (seed, stream).
std::vector<std::int64_t> drawn_order(std::int64_t n, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> keys(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto element = static_cast<std::uint64_t>(i);
    keys[element] = {random4(seed, RandomPurpose::split, stream, element).v[0], i};
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::int64_t> order;
  std::transform(keys.begin(), keys.end(), std::back_inserter(order), [](const auto& key) {
    return key.second;
  });
  return order;
}

/// Returns a data set of the same kind without images.
Dataset empty_like(const Dataset& from) {
  Dataset out;
  out.name = from.name;
  out.synthetic = from.synthetic;
  out.split = from.split;
  out.height = from.height;
  out.width = from.width;
  out.channels = from.channels;
  out.classes = from.classes;
  out.target_kind = from.target_kind;
  out.feature_names = from.feature_names;
  out.source = from.source;
  return out;
}

void check_targets(const Dataset& set) {
  if (!set.labels.empty())
    fail<DataError>("data set '{}' has {} classes as well as targets; set only one",
                    set.name,
                    set.labels.size());
  const std::size_t each = set.classes.size();
  if (set.targets.size() % each != 0)
    fail<DataError>("data set '{}': {} targets are not a multiple of {} names",
                    set.name,
                    set.targets.size(),
                    each);
  const bool labels = set.target_kind == TargetKind::labels;
  const auto bad = std::ranges::find_if(
      set.targets, [&](float v) { return labels ? v != 0 && v != 1 : !std::isfinite(v); });
  if (bad == set.targets.end()) return;
  const auto at = static_cast<std::size_t>(bad - set.targets.begin());
  fail<DataError>("data set '{}': '{}' of sample {} is {}, {}",
                  set.name,
                  set.classes[at % each],
                  at / each,
                  *bad,
                  labels ? "a label must be 0 or 1" : "it must be finite");
}

void check_labels(const Dataset& set) {
  if (!set.targets.empty())
    fail<DataError>("data set '{}' has {} targets as well as classes; set target_kind",
                    set.name,
                    set.targets.size());
  const auto count = static_cast<std::int64_t>(set.classes.size());
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const std::int64_t label = set.labels[static_cast<std::size_t>(i)];
    if (label < 0 || label >= count)
      fail<DataError>(
          "data set '{}': image {} has label {}, there are {} classes", set.name, i, label, count);
  }
}

/// Checks that samples are u8, f32, or read from a source, and match the number of targets.
void check_samples(const Dataset& set) {
  if ((set.pixels.empty() ? 0 : 1) + (set.features.empty() ? 0 : 1) +
          (set.source == nullptr ? 0 : 1) !=
      1)
    fail<DataError>(
        "data set '{}' has {} bytes of pixels, {} numbers and {} image sources: set exactly one of "
        "them",
        set.name,
        set.pixels.size(),
        set.features.size(),
        set.source == nullptr ? "no" : "a");
  const auto need = [&](std::size_t there, std::int64_t each, std::string_view what) {
    if (static_cast<std::int64_t>(there) != set.size() * each)
      fail<DataError>("data set '{}': {} labels need {} {}, got {}",
                      set.name,
                      set.size(),
                      set.size() * each,
                      what,
                      there);
  };
  if (!set.pixels.empty()) return need(set.pixels.size(), set.image_bytes(), "bytes of pixels");
  if (set.source != nullptr) return need(set.places.size(), 1, "images");
  const std::int64_t each = set.sample_shape().elements();
  need(set.features.size(), each, "numbers");
  const auto bad = std::ranges::find_if(set.features, [](float v) { return !std::isfinite(v); });
  if (bad == set.features.end()) return;
  const std::int64_t at = bad - set.features.begin();
  fail<DataError>("data set '{}': value {} of sample {} is {}; it must be finite",
                  set.name,
                  at % each,
                  at / each,
                  *bad);
}

void append_sample(Dataset& out, const Dataset& from, std::int64_t i) {
  if (from.source != nullptr) {
    out.places.push_back(from.places[static_cast<std::size_t>(i)]);
  } else if (!from.features.empty()) {
    const auto sample = from.features_of(i);
    out.features.insert(out.features.end(), sample.begin(), sample.end());
  } else if (!from.pixels.empty()) {
    const auto image = from.image(i);
    out.pixels.insert(out.pixels.end(), image.begin(), image.end());
  }
}

/// Appends the value in little-endian order on every machine.
void append32(std::vector<std::uint8_t>& bytes, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

void update(Digest& digest, std::span<const float> values) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(values.size() * 4);
  for (const float value : values) append32(bytes, std::bit_cast<std::uint32_t>(value));
  digest.update(bytes);
}

}  // namespace

std::span<const std::uint8_t> Dataset::read_image(std::int64_t i,
                                                  std::vector<std::uint8_t>& memory) const {
  if (source == nullptr) return image(i);
  source->read(places[static_cast<std::size_t>(i)], memory);
  return memory;
}

Image Dataset::whole_image(std::int64_t i) const {
  if (source != nullptr) return source->whole(places[static_cast<std::size_t>(i)]);
  const auto there = image(i);
  return {height, width, {there.begin(), there.end()}, channels};
}

std::string Dataset::fingerprint() const {
  Digest digest(Digest::Kind::sha256);
  digest.update(fmt::format("{} {} {} {}\n", size(), height, width, channels));
  for (const std::string& c : classes) digest.update(fmt::format("{}:{}\n", c.size(), c));
  if (target_kind != TargetKind::classes)
    digest.update(target_kind == TargetKind::labels ? "labels\n" : "values\n");
  for (const std::string& f : feature_names) digest.update(fmt::format("{}:{}\n", f.size(), f));
  std::vector<std::uint8_t> bytes;
  bytes.reserve(labels.size() * 4);
  for (const std::int64_t label : labels) append32(bytes, static_cast<std::uint32_t>(label));
  digest.update(bytes);
  update(digest, targets);
  digest.update(pixels);
  for (std::int64_t i = 0; i < size() && !features.empty(); ++i) update(digest, features_of(i));
  for (const std::int64_t place : places) {
    const std::string known_by = source->identity(place);
    digest.update(fmt::format("{}:{}\n", known_by.size(), known_by));
  }
  return digest.hex();
}

void Dataset::validate() const {
  if (size() == 0) fail<DataError>("data set '{}' has no images", name);
  const bool plain = !features.empty() && height == 0 && width == 0 && channels > 0;
  const bool images = height > 0 && width > 0 && channels > 0 && channels <= kMaxChannels;
  if (!plain && !images)
    fail<DataError>("data set '{}': image size {}x{}x{}", name, height, width, channels);
  check_samples(*this);
  target_kind == TargetKind::classes ? check_labels(*this) : check_targets(*this);
}

Dataset subset(const Dataset& from, std::span<const std::int64_t> indices) {
  Dataset out = empty_like(from);
  if (!from.pixels.empty())
    out.pixels.reserve(indices.size() * static_cast<std::size_t>(from.image_bytes()));
  out.labels.reserve(indices.size());
  for (const std::int64_t i : indices) {
    if (i < 0 || i >= from.size())
      fail<UsageError>("subset: image {} of {} ('{}')", i, from.size(), from.name);
    append_sample(out, from, i);
    if (from.target_kind == TargetKind::classes) {
      out.labels.push_back(from.labels[static_cast<std::size_t>(i)]);
    } else {
      const auto targets = from.targets_of(i);
      out.targets.insert(out.targets.end(), targets.begin(), targets.end());
    }
    if (!from.files.empty()) out.files.push_back(from.files[static_cast<std::size_t>(i)]);
  }
  return out;
}

Dataset resized(Dataset from, ImageSize size) {
  if (!from.features.empty())
    fail<UsageError>("'{}' contains floats, which cannot be scaled to {}x{}",
                     from.name,
                     size.width,
                     size.height);
  if (ImageSize{from.height, from.width} == size) return from;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(from.size() * size.height * size.width * from.channels));
  for (std::int64_t i = 0; i < from.size(); ++i) {
    const Image scaled = resize_and_crop(from.whole_image(i), size.height, size.width);
    pixels.insert(pixels.end(), scaled.pixels.begin(), scaled.pixels.end());
  }
  from.pixels = std::move(pixels);
  from.source = nullptr;
  from.places.clear();
  from.height = size.height;
  from.width = size.width;
  return from;
}

Dataset limited(Dataset from, std::int64_t count) {
  if (count < 0) fail<UsageError>("the number of images must be 0 (all) or more, not {}", count);
  if (count == 0 || count >= from.size()) return from;
  constexpr std::uint64_t kFixedSeed = 0;
  std::vector<std::int64_t> chosen = drawn_order(from.size(), kFixedSeed, 0);
  chosen.resize(static_cast<std::size_t>(count));
  std::sort(chosen.begin(), chosen.end());
  Dataset out = subset(from, chosen);
  out.drawn_from = from.size();
  return out;
}

Dataset only_classes(const Dataset& from, const std::vector<std::string>& names) {
  if (from.target_kind != TargetKind::classes)
    fail<UsageError>("data set '{}' has no classes to select: {}",
                     from.name,
                     from.target_kind == TargetKind::labels ? "its samples have several labels"
                                                            : "its targets are real numbers");
  std::vector<std::int64_t> new_label(from.classes.size(), -1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = std::find(from.classes.begin(), from.classes.end(), names[i]);
    if (at == from.classes.end())
      fail<UsageError>(
          "data set '{}' has no class '{}'; it has: {}", from.name, names[i], join(from.classes));
    std::int64_t& label = new_label[static_cast<std::size_t>(at - from.classes.begin())];
    if (label >= 0) fail<UsageError>("class '{}' is named twice", names[i]);
    label = static_cast<std::int64_t>(i);
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < from.size(); ++i)
    if (new_label[static_cast<std::size_t>(from.labels[static_cast<std::size_t>(i)])] >= 0)
      kept.push_back(i);
  Dataset out = subset(from, kept);
  out.classes = names;
  for (std::int64_t& label : out.labels) label = new_label[static_cast<std::size_t>(label)];
  return out;
}

DataPair split_off(const Dataset& from, double fraction, std::uint64_t seed) {
  if (!(fraction > 0 && fraction < 1))
    fail<UsageError>("the share of validation images must be between 0 and 1, not {}", fraction);
  const bool stratified = from.target_kind == TargetKind::classes;
  const std::vector<std::int64_t> counts =
      stratified ? class_counts(from) : std::vector{from.size()};
  std::vector<std::int64_t> wanted(counts.size());
  std::transform(counts.begin(), counts.end(), wanted.begin(), [&](std::int64_t n) {
    return static_cast<std::int64_t>(std::llround(fraction * static_cast<double>(n)));
  });
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> valid;
  constexpr std::uint64_t kStream = 1;
  for (const std::int64_t i : drawn_order(from.size(), seed, kStream)) {
    const std::int64_t part = stratified ? from.labels[static_cast<std::size_t>(i)] : 0;
    std::int64_t& left = wanted[static_cast<std::size_t>(part)];
    (left-- > 0 ? valid : train).push_back(i);
  }
  if (train.empty() || valid.empty())
    fail<DataError>(
        "splitting {} images of '{}' at {} leaves {} for training and {} for validation; both need "
        "at least one",
        from.size(),
        from.name,
        fraction,
        train.size(),
        valid.size());
  std::sort(train.begin(), train.end());
  std::sort(valid.begin(), valid.end());
  return {subset(from, train), subset(from, valid)};
}

void check_class_names(const std::vector<std::string>& names, const std::string& where) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty()) fail<DataError>("'{}': a class has no name", where);
    // Line ends could be displayed, but checkpoints store one name per line.
    if (printable(name) != name || name.find_first_of("\n\t") != std::string::npos)
      fail<DataError>(
          "'{}': the class name '{}' contains characters that cannot be displayed: rename it",
          where,
          name);
    if (!seen.insert(name).second) fail<DataError>("'{}': two classes are named '{}'", where, name);
  }
}

std::string_view sample_word(const Dataset& dataset) {
  return dataset.form().is_image() ? "images" : "rows";
}

std::vector<std::string> labels_of(const Dataset& dataset, std::int64_t sample) {
  if (dataset.target_kind == TargetKind::classes) {
    const std::int64_t label = dataset.labels[static_cast<std::size_t>(sample)];
    return {dataset.classes[static_cast<std::size_t>(label)]};
  }
  std::vector<std::string> labels;
  if (dataset.target_kind == TargetKind::values) return labels;
  const auto there = dataset.targets_of(sample);
  for (std::size_t c = 0; c < there.size(); ++c)
    if (there[c] == 1) labels.push_back(dataset.classes[c]);
  return labels;
}

std::vector<std::int64_t> class_counts(const Dataset& dataset) {
  if (dataset.target_kind == TargetKind::values)
    fail<UsageError>("data set '{}' has no classes to count: its targets are real numbers",
                     dataset.name);
  std::vector<std::int64_t> counts(dataset.classes.size());
  for (std::size_t i = 0; i < dataset.targets.size(); ++i)
    counts[i % counts.size()] += dataset.targets[i] == 1 ? 1 : 0;
  for (const std::int64_t label : dataset.labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

}  // namespace learn::data
