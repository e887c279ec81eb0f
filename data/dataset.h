#pragma once
#include "data/images/image.h"
#include "data/images/passed_over.h"
#include "data/sample_form.h"
#include "framework/interfaces/target_kind.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn::data {

/// A part of a data set.
enum class Split : std::uint8_t { train, test };

/// Callback for the progress of a long task, called from time to time with (done, total). Never
/// called from two threads at the same time.
using DataProgress = std::function<void(std::int64_t done, std::int64_t total)>;

using learn::TargetKind;

/// Labelled samples of one shape. Images are decoded once and kept in memory as u8, or read when
/// they are needed; arrays of floats, images or plain features, are in memory. Made by the readers
/// (cifar10.h, image_folder.h, synthetic10.h), by name (registry.h), or from arrays (arrays.h).
struct Dataset {
  std::string name;        ///< "cifar10", "synthetic10", or the folder's name
  bool synthetic = false;  ///< generated, not photographed; every report of a result must state it
  Split split = Split::train;
  std::int64_t height =
      0;  ///< 0 together with the width: the samples are features, `channels` of them
  std::int64_t width = 0;
  std::int64_t channels = 3;         ///< 3: red, green, blue; 1: grey; at most kMaxChannels
  std::vector<std::string> classes;  ///< names of the classes, of the labels or of the values
  std::vector<std::uint8_t> pixels;  ///< (N,H,W,C)
  std::vector<std::int64_t> labels;  ///< N indices into `classes`, if targets are classes
  std::vector<std::string> files;    ///< where each image came from; empty if not from files
  TargetKind target_kind = TargetKind::classes;
  std::vector<float> targets;  ///< labels (0 or 1) or values: (N, classes.size())
  /// Float samples, instead of `pixels`: images (N,H,W,C) or features (N,C).
  std::vector<float> features;
  std::vector<std::string> feature_names;  ///< one per feature, if they have names
  /// Source of images that are read when they are needed, instead of `pixels`; and the index of
  /// each image in it.
  std::shared_ptr<const ImageSource> source;
  std::vector<std::int64_t> places;
  /// Size of the set that `limited` drew these samples from; 0: no limit was applied.
  std::int64_t drawn_from = 0;

  [[nodiscard]] std::int64_t size() const noexcept {
    return static_cast<std::int64_t>(target_kind == TargetKind::classes ? labels.size()
                                     : classes.empty()                  ? 0
                                                       : targets.size() / classes.size());
  }
  /// Returns image `i` of any set of u8; it is put into `memory` if it had to be read. Thread-safe.
  /// Throws as ImageSource::read does.
  [[nodiscard]] std::span<const std::uint8_t> read_image(std::int64_t i,
                                                         std::vector<std::uint8_t>& memory) const;
  /// Returns image `i` of a set of u8 in its original size, before it was scaled to the size of the
  /// set, as far as that is known. Throws as ImageSource::whole does.
  [[nodiscard]] Image whole_image(std::int64_t i) const;
  /// Returns sample `i` of a float set.
  [[nodiscard]] std::span<const float> features_of(std::int64_t i) const {
    const auto each = static_cast<std::size_t>(sample_shape().elements());
    return std::span(features).subspan(static_cast<std::size_t>(i) * each, each);
  }
  /// Returns the targets of sample `i`, unless they are classes.
  [[nodiscard]] std::span<const float> targets_of(std::int64_t i) const {
    return std::span(targets).subspan(static_cast<std::size_t>(i) * classes.size(), classes.size());
  }
  [[nodiscard]] SampleForm form() const noexcept {
    return {height, width, channels, !features.empty()};
  }
  [[nodiscard]] Shape sample_shape() const { return form().shape(); }
  [[nodiscard]] std::int64_t image_bytes() const noexcept { return height * width * channels; }
  /// Returns image `i` as (H,W,C), of a set whose pixels are in memory.
  [[nodiscard]] std::span<const std::uint8_t> image(std::int64_t i) const {
    return std::span(pixels).subspan(static_cast<std::size_t>(i * image_bytes()),
                                     static_cast<std::size_t>(image_bytes()));
  }
  /// Returns the SHA-256 (hex) of shape, class names, labels or targets, and pixels: equal for
  /// equal content from any source. Computed at each call, about 0.1 s per 150 MB.
  [[nodiscard]] std::string fingerprint() const;
  /// Throws DataError unless sizes agree, labels are in range, targets are 0 or 1 (labels) or
  /// finite, and there is at least one image.
  void validate() const;
};

/// A damaged file.
struct SkippedFile {
  std::string file;
  std::string why;
};

/// Matching training and validation data: the same classes and image size.
struct DataPair {
  Dataset train;
  Dataset valid;
  std::vector<SkippedFile> skipped = {};     ///< damaged files, if skipping them was allowed
  std::vector<PassedOver> passed_over = {};  ///< files of a folder or archive that are not images
};

/// Returns the images at `indices`, in that order.
[[nodiscard]] Dataset subset(const Dataset& from, std::span<const std::int64_t> indices);
/// Scales the images of a set of u8 by `resize_and_crop`, in memory of the result's size. Images
/// that already have that size stay unchanged. Throws UsageError for a float set.
[[nodiscard]] Dataset resized(Dataset from, ImageSize size);
/// Returns `count` images drawn with a fixed key, in their original order, so that quick runs use
/// the same ones; all images if `count` is 0 or not below the size. Images that are not read yet
/// may be limited by their labels and files. Throws UsageError if it is negative.
[[nodiscard]] Dataset limited(Dataset from, std::int64_t count);
/// Keeps only the named classes, relabelled by their position in `names`. Throws UsageError for an
/// unknown or repeated name, and if the targets are not classes.
[[nodiscard]] Dataset only_classes(const Dataset& from, const std::vector<std::string>& names);
/// Splits off about `fraction` (in (0,1)) for validation, of each class if there are classes. The
/// choice is a function of the seed and the positions. Throws UsageError for an invalid fraction,
/// DataError if a part would be empty.
[[nodiscard]] DataPair split_off(const Dataset& from, double fraction, std::uint64_t seed);
/// Throws DataError that names `where` for duplicate class names, and for a name that is empty, is
/// not UTF-8 or holds control characters, because checkpoints, tables and terminals could not show
/// it.
void check_class_names(const std::vector<std::string>& names, const std::string& where);
/// Returns the word for samples of the set in messages: "images", or "rows" for features.
[[nodiscard]] std::string_view sample_word(const Dataset& dataset);
/// Returns the class of a sample, or its labels. Empty for real numbers.
[[nodiscard]] std::vector<std::string> labels_of(const Dataset& dataset, std::int64_t sample);
/// Counts images per class, or with each label. Throws UsageError for a set of real targets.
[[nodiscard]] std::vector<std::int64_t> class_counts(const Dataset& dataset);

}  // namespace learn::data
