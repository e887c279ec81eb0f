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

/// Which part of a data set.
enum class Split : std::uint8_t { train, test };

/// Progress of a long piece of work, reported now and then: (done, total). Never from two threads
/// at once.
using DataProgress = std::function<void(std::int64_t done, std::int64_t total)>;

using learn::TargetKind;

/// Labelled samples of one form. Images are decoded once and kept in memory as u8, or read when
/// they are needed; arrays of floats, images or plain features, are in memory. Made by the readers
/// (cifar10.h, image_folder.h, synthetic10.h), by name (registry.h), or from arrays (arrays.h).
struct Dataset {
  std::string name;        ///< "cifar10", "synthetic10", or the folder's name
  bool synthetic = false;  ///< computed, not photographed: every report of a result must say so
  Split split = Split::train;
  std::int64_t height = 0;  ///< 0 as the width is: the samples are features, `channels` of them
  std::int64_t width = 0;
  std::int64_t channels = 3;         ///< 3: red, green, blue; 1: grey; at most kMaxChannels
  std::vector<std::string> classes;  ///< names of the classes, of the labels or of the values
  std::vector<std::uint8_t> pixels;  ///< (N,H,W,C)
  std::vector<std::int64_t> labels;  ///< of classes: N positions in that list
  std::vector<std::string> files;    ///< where each image came from; empty if not from files
  TargetKind target_kind = TargetKind::classes;
  std::vector<float> targets;  ///< of labels (0 or 1) and of values: (N, classes.size())
  /// Samples of floats, in the place of `pixels`: images (N,H,W,C) or features (N,C).
  std::vector<float> features;
  std::vector<std::string> feature_names;  ///< of features that have names, one each
  /// What the images are read from when they are needed, in the place of `pixels`; and where each
  /// of them is in it.
  std::shared_ptr<const ImageSource> source;
  std::vector<std::int64_t> places;

  [[nodiscard]] std::int64_t size() const noexcept {
    return static_cast<std::int64_t>(target_kind == TargetKind::classes ? labels.size()
                                     : classes.empty()                  ? 0
                                                       : targets.size() / classes.size());
  }
  /// The same of any set of u8: in `memory`, if they had to be read. Threads may do so at the same
  /// time. Throws as ImageSource::read.
  [[nodiscard]] std::span<const std::uint8_t> read_image(std::int64_t i,
                                                         std::vector<std::uint8_t>& memory) const;
  /// Image `i` of a set of u8 in the size that it had before it was brought to that of the set, as
  /// far as that is known. Throws as ImageSource::whole.
  [[nodiscard]] Image whole_image(std::int64_t i) const;
  /// Sample `i` of a set of floats.
  [[nodiscard]] std::span<const float> features_of(std::int64_t i) const {
    const auto each = static_cast<std::size_t>(sample_shape().elements());
    return std::span(features).subspan(static_cast<std::size_t>(i) * each, each);
  }
  /// The targets of sample `i`, unless they are a class.
  [[nodiscard]] std::span<const float> targets_of(std::int64_t i) const {
    return std::span(targets).subspan(static_cast<std::size_t>(i) * classes.size(), classes.size());
  }
  [[nodiscard]] SampleForm form() const noexcept {
    return {height, width, channels, !features.empty()};
  }
  [[nodiscard]] Shape sample_shape() const { return form().shape(); }
  [[nodiscard]] std::int64_t image_bytes() const noexcept { return height * width * channels; }
  /// Image `i` as (H,W,C), of a set whose pixels are in memory.
  [[nodiscard]] std::span<const std::uint8_t> image(std::int64_t i) const {
    return std::span(pixels).subspan(static_cast<std::size_t>(i * image_bytes()),
                                     static_cast<std::size_t>(image_bytes()));
  }
  /// SHA-256 (hex) over shape, class names, labels or targets, and pixels: equal for equal content,
  /// wherever it came from. Computed at each call, about 0.1 s per 150 MB.
  [[nodiscard]] std::string fingerprint() const;
  /// Throws DataError unless sizes agree, labels are in range, targets 0 or 1 (of labels) or
  /// finite, and there is at least one image.
  void validate() const;
};

/// A damaged file.
struct SkippedFile {
  std::string file;
  std::string why;
};

/// Training and validation data that belong together: same classes, same image size.
struct DataPair {
  Dataset train;
  Dataset valid;
  std::vector<SkippedFile> skipped = {};     ///< damaged files, if they were to be skipped
  std::vector<PassedOver> passed_over = {};  ///< files of a folder or archive that are not read
};

/// The images at `indices`, in that order.
[[nodiscard]] Dataset subset(const Dataset& from, std::span<const std::int64_t> indices);
/// Images of a set of u8 as `resize_and_crop` makes them, in memory of the result's size. One of
/// that size already stays as it is. Throws UsageError for a set of floats.
[[nodiscard]] Dataset resized(Dataset from, ImageSize size);
/// `count` images drawn with a fixed key, in their original order, so that quick runs agree on
/// them; everything if `count` is 0 or not below the size. Throws UsageError if it is negative.
[[nodiscard]] Dataset limited(Dataset from, std::int64_t count);
/// Only the named classes, relabelled by their position in `names`. Throws UsageError for a name
/// that is unknown or comes twice, and for targets that are no classes.
[[nodiscard]] Dataset only_classes(const Dataset& from, const std::vector<std::string>& names);
/// Splits off about `fraction` (in (0,1)) for validation, of each class if there are classes; which
/// images is a function of the seed and of their positions. Throws UsageError for a bad fraction,
/// DataError if a part would be empty.
[[nodiscard]] DataPair split_off(const Dataset& from, double fraction, std::uint64_t seed);
/// Throws DataError that names `where` for two classes of one name, and for a name that is empty,
/// is not UTF-8 or holds control characters: checkpoints, tables and terminals could not show it.
void check_class_names(const std::vector<std::string>& names, const std::string& where);
/// How messages call the samples of a set: "images", or "rows" of features.
[[nodiscard]] std::string_view sample_word(const Dataset& dataset);
/// What a sample is: its class, or those of its labels that it has. None for real numbers.
[[nodiscard]] std::vector<std::string> labels_of(const Dataset& dataset, std::int64_t sample);
/// Images per class, or with each label. Throws UsageError for a set of real targets.
[[nodiscard]] std::vector<std::int64_t> class_counts(const Dataset& dataset);

}  // namespace learn::data
