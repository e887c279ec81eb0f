#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace learn::data {

/// Numbers of an array file: MNIST's idx, or NumPy's .npy.
struct ArrayFile {
  char kind = 'u';         ///< 'u' and 'i': integers; others as in NumPy
  std::int64_t bytes = 1;  ///< per number
  bool big_endian = false;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> data;  ///< all numbers of the shape, the last axis fastest

  /// Returns number `i` of an integer file.
  [[nodiscard]] std::int64_t whole_number(std::size_t i) const;
  /// Returns text such as "<i8 (60000,)", for messages.
  [[nodiscard]] std::string text() const;
};

/// Returns whether the name is typical of an array file: "x.npy", "train-images-idx3-ubyte", also
/// with ".gz".
[[nodiscard]] bool is_array_name(const std::filesystem::path& file);

/// Parses the contents of a file, decompressed if they are gzip. Throws DataError, whose text does
/// not name the file, if they are neither format, are damaged, or hold Python objects. Allocates no
/// memory for data that a header claims but the file does not have.
[[nodiscard]] ArrayFile read_array(std::span<const std::uint8_t> file);

}  // namespace learn::data
