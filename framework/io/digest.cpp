#include "framework/io/digest.h"

#include "framework/core/error.h"

#include <openssl/evp.h>

#include <array>

namespace learn {

namespace {

void require(int ok) {
  if (ok != 1) fail<Error>("the system's OpenSSL library refused to compute a checksum");
}

std::string hex_of(Digest::Kind kind, std::span<const std::uint8_t> bytes) {
  Digest digest(kind);
  digest.update(bytes);
  return digest.hex();
}

}  // namespace

struct Digest::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> ctx{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Digest::Digest(Kind kind) : state_(std::make_unique<State>()) {
  require(
      EVP_DigestInit_ex(state_->ctx.get(), kind == Kind::md5 ? EVP_md5() : EVP_sha256(), nullptr));
}
Digest::~Digest() = default;

void Digest::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(state_->ctx.get(), bytes.data(), bytes.size()));
}

std::string Digest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
  unsigned size = 0;
  require(EVP_DigestFinal_ex(state_->ctx.get(), value.data(), &size));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[value[i] >> 4U];
    text += kDigits[value[i] & 15U];
  }
  return text;
}

std::string md5_hex(std::span<const std::uint8_t> bytes) {
  return hex_of(Digest::Kind::md5, bytes);
}

std::string sha256_hex(std::span<const std::uint8_t> bytes) {
  return hex_of(Digest::Kind::sha256, bytes);
}

}  // namespace learn
