// The only file that includes GLib.
#include "data/names/unicode.h"

#include "framework/core/error.h"
#include "framework/core/printable.h"

#include <fmt/core.h>
#include <glib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace learn::data {
namespace {

struct Free {
  void operator()(void* memory) const { g_free(memory); }
};
using Owned = std::unique_ptr<gchar, Free>;

/// The characters of a text in UTF-8.
std::vector<gunichar> characters(std::string_view text) {
  std::vector<gunichar> out;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end; at = g_utf8_next_char(at))
    out.push_back(g_utf8_get_char(at));
  return out;
}

std::string to_utf8(std::span<const gunichar> text) {
  std::string out;
  for (const gunichar c : text) {
    char bytes[6];
    out.append(bytes, static_cast<std::size_t>(g_unichar_to_utf8(c, bytes)));
  }
  return out;
}

/// Returns whether a character is invisible: joiners, marks of direction and byte order, variation
/// selectors.
bool is_unseen(gunichar c) {
  return g_unichar_type(c) == G_UNICODE_FORMAT || (c >= 0xFE00 && c <= 0xFE0F);
}

bool is_blank(gunichar c) { return g_unichar_isspace(c) != FALSE || is_unseen(c); }

/// Returns the plain form of characters that most fonts draw alike but that no Unicode normal form
/// makes equal.
gunichar plain_shape(gunichar c) {
  static constexpr std::pair<std::u32string_view, std::u32string_view> kShapes[]{
      // Hyphens, dashes and minus; quotes.
      {U"\u2010\u2011\u2012\u2013\u2014\u2212\u2018\u2019\u02BC\u201C\u201D", U"------'''\"\""},
      // Cyrillic.
      {U"\u0430\u0435\u043E\u0440\u0441\u0443\u0445\u0456\u0458\u0455", U"aeopcyxijs"},
      {U"\u0410\u0412\u0415\u041A\u041C\u041D\u041E\u0420\u0421\u0422\u0423\u0425\u0406\u0408"
       U"\u0405",
       U"ABEKMHOPCTYXIJS"},
      // Greek.
      {U"\u03BF\u0391\u0392\u0395\u0396\u0397\u0399\u039A\u039C\u039D\u039F\u03A1\u03A4\u03A5"
       U"\u03A7",
       U"oABEZHIKMNOPTYX"}};
  for (const auto& [from, to] : kShapes)
    if (const std::size_t at = from.find(static_cast<char32_t>(c)); at != from.npos) return to[at];
  return c;
}

std::string compatible(const std::string& text) {
  return Owned(g_utf8_normalize(text.data(), static_cast<gssize>(text.size()), G_NORMALIZE_NFKC))
      .get();
}

std::string from_utf16(std::span<const std::uint8_t> bytes, bool big_endian) {
  std::vector<gunichar2> units;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
    units.push_back(static_cast<gunichar2>(big_endian ? bytes[i] << 8U | bytes[i + 1]
                                                      : bytes[i + 1] << 8U | bytes[i]));
  glong written = 0;
  const Owned text(
      g_utf16_to_utf8(units.data(), static_cast<glong>(units.size()), nullptr, &written, nullptr));
  if (text == nullptr || bytes.size() % 2 != 0) fail<DataError>("damaged UTF-16: save it as UTF-8");
  return {text.get(), static_cast<std::size_t>(written)};
}

}  // namespace

std::string decoded_text(const std::vector<std::uint8_t>& bytes) {
  const std::string text(bytes.begin(), bytes.end());
  const std::span all(bytes);
  if (text.starts_with("\xFF\xFE") && !text.starts_with(std::string_view("\xFF\xFE\0\0", 4)))
    return from_utf16(all.subspan(2), false);
  if (text.starts_with("\xFE\xFF")) return from_utf16(all.subspan(2), true);
  if (text.find('\0') != std::string::npos)
    fail<DataError>(
        "contains zero bytes: it is a text in another encoding (UTF-16, UTF-32), or not a text; "
        "save it as UTF-8");
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::string trimmed(std::string_view text) {
  if (!is_utf8(text)) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
    return std::string(text.substr(first, text.find_last_not_of(kBlanks) + 1 - first));
  }
  const std::vector<gunichar> all = characters(text);
  const auto first = std::ranges::find_if_not(all, is_blank);
  auto last = all.end();
  while (last != first && is_blank(*(last - 1))) --last;
  return to_utf8({first, last});
}

std::string looks_like(std::string_view text) {
  if (!is_utf8(text)) return std::string(text);
  std::vector<gunichar> seen;
  for (const gunichar c : characters(compatible(std::string(text)))) {
    if (is_unseen(c)) continue;
    const bool blank = is_blank(c);
    if (!blank || (!seen.empty() && seen.back() != ' '))
      seen.push_back(blank ? ' ' : plain_shape(c));
  }
  const std::string shapes = to_utf8(seen);
  const Owned folded(g_utf8_casefold(shapes.data(), static_cast<gssize>(shapes.size())));
  return trimmed(compatible(folded.get()));
}

std::string in_ascii(std::string_view text) {
  if (!is_utf8(text)) {
    std::string out;
    for (const char c : text)
      out += static_cast<unsigned char>(c) < 0x80
                 ? std::string(1, c)
                 : fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    return printable_line(out);
  }
  std::string out;
  for (const gunichar c : characters(text))
    out += c < 0x80 ? std::string(1, static_cast<char>(c)) : fmt::format("\\u{:04x}", c);
  return printable_line(out);
}

}  // namespace learn::data
