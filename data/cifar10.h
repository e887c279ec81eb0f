#pragma once
#include "data/dataset.h"
#include "data/file_tree.h"

#include <cstdint>
#include <filesystem>

/// CIFAR-10 and CIFAR-100 as their authors publish them in binary form
/// (https://www.cs.toronto.edu/~kriz/cifar.html): records of one label byte (CIFAR-100: coarse
/// and fine label), then the red, green and blue plane of 1024 bytes each, row by row.
namespace learn::data {

struct CifarOptions {
  /// Compare each file's MD5 with the published one, so that only the official data passes.
  bool verify = false;
};

/// Reads data_batch_1.bin to data_batch_5.bin (train, 50,000 images) or test_batch.bin (10,000)
/// from a folder or the archive. Throws DataError that names the file, and says what to do, if a
/// file is missing, has not exactly the right size, or holds a label that is out of range.
[[nodiscard]] Dataset read_cifar10(const FileTree& tree,
                                   Split split,
                                   const CifarOptions& options = {});
/// The same for CIFAR-100's train.bin and test.bin, with the 100 fine labels.
[[nodiscard]] Dataset read_cifar100(const FileTree& tree,
                                    Split split,
                                    const CifarOptions& options = {});

/// Where the binary archives can be had, and how to tell that they are intact.
struct CifarArchive {
  const char* url;
  const char* folder;  ///< what the archive unpacks to
  const char* file;    ///< one that tells it from other folders
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

/// One file of records: `label_bytes` labels, of which number `label_at` counts, then the pixels.
struct CifarFormat {
  std::int64_t label_bytes = 1;
  std::int64_t label_at = 0;
  std::int64_t classes = 10;
};
/// Appends the `records` records of `file` to pixels (as (H,W,C)) and labels of `dataset`.
/// `md5`, if not empty, must be the file's. Throws DataError.
void read_cifar_file(const FileTree& tree,
                     const std::filesystem::path& file,
                     const CifarFormat& format,
                     std::int64_t records,
                     const std::string& md5,
                     Dataset& dataset);

}  // namespace learn::data
