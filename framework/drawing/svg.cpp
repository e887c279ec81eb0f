#include "framework/drawing/svg.h"

#include "framework/core/fnv1a.h"
#include "framework/core/printable.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace learn::plot {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : utf8_text(text)) {
    // XML allows no control characters except these two.
    const bool visible = static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t';
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else
      out += visible ? c : ' ';
  }
  return out;
}

/// Returns the position of the next name that is defined or used from `from` on; npos if none
/// follows.
std::size_t next_name(std::string_view text, std::size_t from) {
  std::size_t next = std::string_view::npos;
  for (const std::string_view before : {" id=\"", "url(#", "href=\"#"})
    if (const std::size_t at = text.find(before, from); at != std::string_view::npos)
      next = std::min(next, at + before.size());
  return next;
}

/// Replaces all names by `prefix` and numbers, in order of appearance.
std::string renamed(std::string_view text, const std::string& prefix) {
  std::map<std::string, std::string, std::less<>> names;
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; (at = next_name(text, at)) != std::string_view::npos;) {
    const std::size_t end = text.find_first_of("\")", at);
    const auto [known, added] = names.try_emplace(std::string(text.substr(at, end - at)),
                                                  fmt::format("{}{}", prefix, names.size()));
    out.append(text, copied, at - copied).append(known->second);
    copied = at = end;
  }
  return out.append(text, copied);
}

}  // namespace

std::string finished_svg(std::string_view by_cairo,
                         const std::string& title,
                         const std::vector<std::string>& texts) {
  // A page can hold several drawings if their names are distinct.
  const std::uint64_t content = fnv1a(renamed(by_cairo, "n")) & 0xffffffffU;
  std::string out = renamed(by_cairo, fmt::format("d{:08x}-", content));
  std::string head = fmt::format("\n<title>{}</title>\n<desc>", escaped(title));
  for (const std::string& text : texts) head += escaped(text) + "\n";
  const std::size_t root = out.find('>', out.find("<svg"));
  out.insert(root + 1, head + "</desc>");
  out.insert(root, " role=\"img\"");
  return out;
}

}  // namespace learn::plot
