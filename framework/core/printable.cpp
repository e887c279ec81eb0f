#include "framework/core/printable.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>

namespace learn {
namespace {

constexpr std::uint32_t kMalformed = 0xFFFFFFFF;

struct CodePoint {
  std::uint32_t value = kMalformed;
  std::size_t bytes = 1;
};

/// Of the first bytes of `text`, by table 3-7 of the Unicode standard.
CodePoint first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return static_cast<unsigned char>(text[i]);
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t value = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[]{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kLeast[bytes] || value > 0x10FFFF || surrogate) return {};
  return {value, bytes};
}

bool steers(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool direction = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return control || direction || c == kMalformed;
}

/// `kept`: what stays as it is, whatever it does.
std::string visible(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    const std::string_view bytes = text.substr(0, c.bytes);
    if (!steers(c.value) || kept.find(text.front()) != std::string_view::npos) {
      out += bytes;
    } else {
      for (const char byte : bytes)
        out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return visible(text, "\n\t"); }

std::string printable_line(std::string_view text) { return visible(text, ""); }

}  // namespace learn
