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

/// Whether these are files of arrays (`is_array_name`) at the top of a folder or archive that has
/// no folders: MNIST's, or what an .npz archive is.
[[nodiscard]] bool holds_arrays(const FileTree& tree);

/// A data set of images in files of arrays. Their names say what they hold: a part (train; valid,
/// val, validation; test, t10k; or none of these) and images (x, images, image, imgs, data) or
/// labels (y, labels, label, targets, target), in any order and with other words: "x_train.npy",
/// "t10k-labels-idx1-ubyte.gz".
class ArraySet {
 public:
  enum class Part : std::uint8_t { all, train, valid, test };

  /// Reads names and labels. Throws DataError, with paths, for images or labels without the other,
  /// two files for one purpose, labels that are not whole numbers, and files that cannot be read.
  /// The classes are the numbers that occur in any part, in their order.
  explicit ArraySet(const FileTree& tree);

  [[nodiscard]] bool has(Part part) const { return parts_[index(part)].has_value(); }
  /// The images, u8 of (N,H,W) or (N,H,W,C), and labels of a part that there is. Throws DataError
  /// for other arrays, and where the two are not equally many.
  [[nodiscard]] Dataset read(Part part) const;

 private:
  struct Files {
    std::filesystem::path images;
    std::filesystem::path labels;
    std::vector<std::int64_t> values;  ///< labels as the file has them
  };
  static std::size_t index(Part part) { return static_cast<std::size_t>(part); }
  [[nodiscard]] ArrayFile file(const std::filesystem::path& path) const;
  [[nodiscard]] std::vector<std::int64_t> labels_of(const std::filesystem::path& path) const;

  const FileTree& tree_;
  std::array<std::optional<Files>, 4> parts_;
  std::vector<std::int64_t> classes_;  ///< sorted
};

/// Reads such a set as `load` does, its images scaled to `size` unless that is 0.
[[nodiscard]] DataPair load_arrays(const FileTree& tree,
                                   std::int64_t size,
                                   const DataOptions& options);

}  // namespace learn::data
