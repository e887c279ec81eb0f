#include "data/digest.h"

#include "framework/core/error.h"

#include <openssl/evp.h>

#include <array>

namespace learn::data {

struct Digest::Impl {
  EVP_MD_CTX* ctx = EVP_MD_CTX_new();
  Impl() = default;
  ~Impl() { EVP_MD_CTX_free(ctx); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static void require(int ok) {
    if (ok != 1) fail<Error>("the system's OpenSSL library refused to compute a checksum");
  }
};

Digest::Digest(Kind kind) : impl_(std::make_unique<Impl>()) {
  Impl::require(
      EVP_DigestInit_ex(impl_->ctx, kind == Kind::md5 ? EVP_md5() : EVP_sha256(), nullptr));
}
Digest::~Digest() = default;

void Digest::update(std::span<const std::uint8_t> bytes) {
  Impl::require(EVP_DigestUpdate(impl_->ctx, bytes.data(), bytes.size()));
}

void Digest::update(std::string_view text) {
  Impl::require(EVP_DigestUpdate(impl_->ctx, text.data(), text.size()));
}

std::string Digest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
  unsigned size = 0;
  Impl::require(EVP_DigestFinal_ex(impl_->ctx, value.data(), &size));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[value[i] >> 4U];
    text += kDigits[value[i] & 15U];
  }
  return text;
}

std::string md5_hex(std::span<const std::uint8_t> bytes) {
  Digest digest(Digest::Kind::md5);
  digest.update(bytes);
  return digest.hex();
}

std::string sha256_hex(std::span<const std::uint8_t> bytes) {
  Digest digest(Digest::Kind::sha256);
  digest.update(bytes);
  return digest.hex();
}

}  // namespace learn::data
