#include "framework/tensorboard/record.h"

#include <array>

namespace learn::tensorboard {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t kPolynomial = 0x82F63B78U;  // reflected
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

/// Checksums of data that contain checksums are weak, so TensorFlow stores a modified number.
std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  return bytes;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes)
    crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~crc;
}

std::string record(std::string_view bytes) {
  std::string out = little_endian(std::uint64_t{bytes.size()});
  out += little_endian(masked_crc32c(out));
  out += bytes;
  out += little_endian(masked_crc32c(bytes));
  return out;
}

}  // namespace learn::tensorboard
