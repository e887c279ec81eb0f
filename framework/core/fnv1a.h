#pragma once
#include <cstdint>
#include <string_view>

/// FNV-1a with 64 bits, of Fowler, Noll and Vo: http://www.isthe.com/chongo/tech/comp/fnv/. The
/// result never changes, because names of files and streams of random numbers depend on it.
namespace learn {

/// The hash of nothing, and what each step multiplies with.
inline constexpr std::uint64_t kFnv1aBasis = 0xCBF29CE484222325U;
inline constexpr std::uint64_t kFnv1aPrime = 0x100000001B3U;

/// The hash of a text's bytes.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) noexcept {
  std::uint64_t hash = kFnv1aBasis;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kFnv1aPrime;
  return hash;
}

/// The hash folded to the 48 bits of a stream of `random4`.
[[nodiscard]] constexpr std::uint64_t fnv1a_48(std::string_view text) noexcept {
  const std::uint64_t hash = fnv1a(text);
  return (hash ^ (hash >> 48U)) & 0xFFFFFFFFFFFFU;
}

/// A range of integers with a step for each instead of one for each byte: quicker, and not the hash
/// of their bytes.
template <class Integers>
[[nodiscard]] constexpr std::uint64_t fnv1a_words(const Integers& words) noexcept {
  std::uint64_t hash = kFnv1aBasis;
  for (const auto word : words) hash = (hash ^ static_cast<std::uint64_t>(word)) * kFnv1aPrime;
  return hash;
}

}  // namespace learn
