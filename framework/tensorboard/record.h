#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace learn::tensorboard {

/// The checksum CRC-32C (Castagnoli; RFC 3720, B.4) of the bytes.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

/// The bytes as a record of a TFRecord file: their number in 8 bytes, its checksum in 4, they
/// themselves, their checksum in 4; little endian, checksums masked as TensorFlow does.
[[nodiscard]] std::string record(std::string_view bytes);

}  // namespace learn::tensorboard
