#include "framework/html/escape.h"

#include "framework/core/printable.h"

#include <openssl/evp.h>

namespace learn::html {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string script_safe(std::string json) {
  // "<" occurs only in strings, where it may be written as an escape.
  constexpr std::string_view kLess = "\\u003c";
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos; at += kLess.size())
    json.replace(at, 1, kLess);
  return json;
}

std::string png_url(std::string_view png) {
  constexpr std::string_view kStart = "data:image/png;base64,";
  // Four letters for three bytes, and the terminating zero that EVP_EncodeBlock writes.
  std::string url(kStart);
  url.resize(kStart.size() + 4 * ((png.size() + 2) / 3) + 1);
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(url.data() + kStart.size()),
                  reinterpret_cast<const unsigned char*>(png.data()),
                  static_cast<int>(png.size()));
  url.pop_back();
  return url;
}

}  // namespace learn::html
