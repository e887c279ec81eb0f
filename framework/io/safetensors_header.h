#pragma once
#include "framework/io/safetensors.h"

#include <map>
#include <string>
#include <string_view>

/// The JSON header of a safetensors file, without file access.
namespace learn::detail {

struct SafetensorsHeader {
  Metadata metadata;
  std::map<std::string, TensorEntry, std::less<>> tensors;
};

/// Parses and checks a header for `data_size` bytes of data. `file` is for error texts. Throws
/// CheckpointError.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json,
                                                         std::uint64_t data_size,
                                                         const std::string& file);
/// The header's JSON, without padding. Throws UsageError if a text is not UTF-8.
[[nodiscard]] std::string write_safetensors_header(const std::vector<TensorEntry>& tensors,
                                                   const Metadata& metadata);
/// The format's name of a dtype: "F32", "BF16", "I64".
[[nodiscard]] std::string_view safetensors_name(DType dtype) noexcept;

}  // namespace learn::detail
