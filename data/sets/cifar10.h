#pragma once
#include "data/dataset.h"
#include "data/files/file_tree.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

/// CIFAR-10 and CIFAR-100 as their authors publish them in binary form
/// (https://www.cs.toronto.edu/~kriz/cifar.html): records of one label byte (CIFAR-100: coarse
/// and fine label), then the red, green and blue plane of 1024 bytes each, row by row.
namespace learn::data {

struct CifarOptions {
  /// Refuse files whose MD5 is not the published one. If false, data of other files are called
  /// "cifar10-layout" or "cifar100-layout", because only their layout is known.
  bool verify = true;
};

/// Reads data_batch_1.bin to data_batch_5.bin (train, 50,000 images) or test_batch.bin (10,000)
/// from a folder or the archive. Throws DataError that names the file, and the remedy, if a file is
/// missing, does not have exactly the right size, is not the published one (see CifarOptions), or
/// holds a label out of range, or if a class has no usable name.
[[nodiscard]] Dataset read_cifar10(const FileTree& tree,
                                   Split split,
                                   const CifarOptions& options = {});
/// Reads CIFAR-100's train.bin and test.bin in the same way, with the 100 fine labels.
[[nodiscard]] Dataset read_cifar100(const FileTree& tree,
                                    Split split,
                                    const CifarOptions& options = {});

/// Returns the name of a data set in CIFAR-10's layout, so that no other data appear as CIFAR-10 in
/// a table of results: "cifar10" if its files and class names are the published ones,
/// "synthetic10-files" if the class names match synthetic10, otherwise "cifar10-layout".
[[nodiscard]] std::string cifar10_name(bool published, const std::vector<std::string>& classes);

/// Download locations of the binary archives and how to verify them.
struct CifarArchive {
  const char* url;
  const char* folder;  ///< the folder that the archive unpacks to
  const char* file;    ///< a file that other folders do not have
  std::int64_t bytes;
  const char* md5;
};
inline constexpr CifarArchive kCifar10Archive{
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "cifar-10-batches-bin",
    "test_batch.bin",
    170'052'171,
    "c32a1d4ab5d03f1284b67883e8d87530"};
inline constexpr CifarArchive kCifar100Archive{
    "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
    "cifar-100-binary",
    "test.bin",
    168'513'733,
    "03b5dce01913d631647c71ecec9e9cb8"};

/// Returns whether these are the binary files of one of them.
[[nodiscard]] bool holds_cifar(const FileTree& tree);

/// Throws DataError with the remedy if these are the files of the Python version of one of them.
void refuse_cifar_pickles(const FileTree& tree);

/// One file of records: `label_bytes` labels, of which number `label_at` is used, then the pixels.
struct CifarFormat {
  std::int64_t label_bytes = 1;
  std::int64_t label_at = 0;
  std::int64_t classes = 10;
};
/// Appends the records in `bytes` to pixels (as (H,W,C)) and labels of `dataset`. `file` is for
/// error texts. Throws DataError unless there are exactly `records`, with labels in range.
void add_cifar_records(std::span<const std::uint8_t> bytes,
                       const std::string& file,
                       const CifarFormat& format,
                       std::int64_t records,
                       Dataset& dataset);

}  // namespace learn::data
