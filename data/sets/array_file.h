#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace learn::data {

/// Numbers of a file: MNIST's idx, or NumPy's .npy.
struct ArrayFile {
  char kind = 'u';         ///< 'u' and 'i': whole numbers; others as NumPy names them
  std::int64_t bytes = 1;  ///< of a number
  bool big_endian = false;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> data;  ///< as many numbers as the shape says, the last axis fastest

  /// Number `i` of a file of whole numbers.
  [[nodiscard]] std::int64_t whole_number(std::size_t i) const;
  /// "<i8 (60000,)", for messages.
  [[nodiscard]] std::string text() const;
};

/// Whether a file is one by its name: "x.npy", "train-images-idx3-ubyte", also with ".gz".
[[nodiscard]] bool is_array_name(const std::filesystem::path& file);

/// Reads the contents of a file, unpacked if they are gzip. Throws DataError, whose text does not
/// name the file, for what is neither, is damaged, or holds objects of Python. No memory is taken
/// for what a header claims and the file does not have.
[[nodiscard]] ArrayFile read_array(std::span<const std::uint8_t> file);

}  // namespace learn::data
