#pragma once
#include "framework/core/dtype.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace learn::detail {

/// Counts the values of a model that are NaN or infinite while they are read from a file, to warn
/// of a model that can only predict NaN.
class NotFinite {
 public:
  /// `bytes` are the elements of a whole tensor; of integers there is nothing to count.
  void look_at(const std::string& name, DType dtype, std::span<const std::byte> bytes);
  /// One warning that names the first tensor, and how many there are. None if all are finite.
  void warn(const std::filesystem::path& file) const;

 private:
  std::string first_;  ///< tensor, with its counts
  std::int64_t tensors_ = 0;
};

}  // namespace learn::detail
