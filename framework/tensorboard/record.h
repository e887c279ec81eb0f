#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace learn::tensorboard {

/// Returns the CRC-32C checksum (Castagnoli; RFC 3720, B.4) of the bytes.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

/// Returns the bytes as a record of a TFRecord file: their number in 8 bytes, its checksum in 4,
/// the bytes, their checksum in 4. Numbers are little endian; checksums are masked as in
/// TensorFlow.
[[nodiscard]] std::string record(std::string_view bytes);

}  // namespace learn::tensorboard
