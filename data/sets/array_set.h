#pragma once
#include "data/dataset.h"
#include "data/files/file_tree.h"
#include "data/sets/array_file.h"
#include "data/sets/registry.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn::data {

/// Returns whether these are array files (`is_array_name`) at the top of a folder or archive
/// without folders, such as MNIST's, or an .npz archive.
[[nodiscard]] bool holds_arrays(const FileTree& tree);

/// A data set of images in array files. Their names give the part (train; valid, val, validation;
/// test, t10k; or none) and the content: images (x, images, image, imgs, data) or labels (y,
/// labels, label, targets, target), in any order and with other words: "x_train.npy",
/// "t10k-labels-idx1-ubyte.gz".
class ArraySet {
 public:
  enum class Part : std::uint8_t { all, train, valid, test };

  /// Reads names and labels. Throws DataError, with paths, for images without labels or the
  /// reverse, two files for one purpose, labels that are not integers, and files that cannot be
  /// read. The classes are the numbers that occur in any part, sorted.
  explicit ArraySet(const FileTree& tree);

  [[nodiscard]] bool has(Part part) const { return parts_[index(part)].has_value(); }
  /// Reads images, u8 of (N,H,W) or (N,H,W,C), and labels of an existing part. Throws DataError for
  /// other arrays, and for different numbers of images and labels.
  [[nodiscard]] Dataset read(Part part) const;

 private:
  struct Files {
    std::filesystem::path images;
    std::filesystem::path labels;
    std::vector<std::int64_t> values;  ///< labels as in the file
  };
  static std::size_t index(Part part) { return static_cast<std::size_t>(part); }
  [[nodiscard]] ArrayFile file(const std::filesystem::path& path) const;
  [[nodiscard]] std::vector<std::int64_t> labels_of(const std::filesystem::path& path) const;

  const FileTree& tree_;
  std::array<std::optional<Files>, 4> parts_;
  std::vector<std::int64_t> classes_;  ///< sorted
};

/// Reads such a set as `load` does, with images scaled to `size` unless it is 0.
[[nodiscard]] DataPair load_arrays(const FileTree& tree,
                                   std::int64_t size,
                                   const DataOptions& options);

}  // namespace learn::data
