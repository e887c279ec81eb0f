#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace learn {

/// A checksum of bytes that arrive in pieces. MD5 serves only to compare with published values.
class Digest {
 public:
  enum class Kind : std::uint8_t { md5, sha256 };

  explicit Digest(Kind kind);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void update(std::span<const std::byte> bytes);
  void update(std::span<const std::uint8_t> bytes) { update(std::as_bytes(bytes)); }
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  /// Returns lower-case hexadecimal digits and ends the computation.
  [[nodiscard]] std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string md5_hex(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::string sha256_hex(std::span<const std::uint8_t> bytes);

}  // namespace learn
