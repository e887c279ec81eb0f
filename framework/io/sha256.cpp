#include "framework/io/sha256.h"

#include "framework/core/error.h"

#include <openssl/evp.h>

#include <array>

namespace learn {

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> ctx{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check<Error>(EVP_DigestInit_ex(state_->ctx.get(), EVP_sha256(), nullptr) == 1,
               "no SHA-256 in libcrypto");
}
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  check<Error>(EVP_DigestUpdate(state_->ctx.get(), bytes.data(), bytes.size()) == 1,
               "SHA-256: update failed");
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  check<Error>(EVP_DigestFinal_ex(state_->ctx.get(), digest.data(), &size) == 1,
               "SHA-256: final failed");
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace learn
