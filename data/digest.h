#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace learn::data {

/// A checksum that is fed in pieces. MD5 serves only to compare with published values.
class Digest {
 public:
  enum class Kind : std::uint8_t { md5, sha256 };

  explicit Digest(Kind kind);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void update(std::span<const std::uint8_t> bytes);
  void update(std::string_view text);
  /// Lower-case hexadecimal digits; the digest cannot be fed any more.
  [[nodiscard]] std::string hex();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] std::string md5_hex(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::string sha256_hex(std::span<const std::uint8_t> bytes);

}  // namespace learn::data
