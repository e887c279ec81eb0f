#include "framework/core/printable.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>

namespace learn {
namespace {

std::string escaped(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes)
    out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return out;
}

/// `kept`: characters that stay unchanged in any case.
std::string visible(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (!c.steers() || kept.find(c.bytes.front()) != std::string_view::npos)
      out += c.bytes;
    else
      out += escaped(c.bytes);
    text.remove_prefix(c.bytes.size());
  }
  return out;
}

}  // namespace

bool CodePoint::steers() const noexcept {
  const bool control = value < 0x20 || (value >= 0x7F && value < 0xA0);
  const bool direction =
      (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
  return control || direction || malformed();
}

/// By table 3-7 of the Unicode standard.
CodePoint first_code_point(std::string_view text) {
  const CodePoint malformed{text.substr(0, 1)};
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return static_cast<unsigned char>(text[i]);
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {text.substr(0, 1), lead};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return malformed;
  std::uint32_t value = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return malformed;
    value = value << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[]{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kLeast[bytes] || value > 0x10FFFF || surrogate) return malformed;
  return {text.substr(0, bytes), value};
}

std::string utf8_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    out += c.malformed() ? escaped(c.bytes) : std::string(c.bytes);
    text.remove_prefix(c.bytes.size());
  }
  return out;
}

bool is_utf8(std::string_view text) { return utf8_text(text) == text; }

std::string printable(std::string_view text) { return visible(text, "\n\t"); }

std::string printable_line(std::string_view text) { return visible(text, ""); }

}  // namespace learn
