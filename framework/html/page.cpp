#include "framework/html/page.h"

#include "framework/html/assets.h"
#include "framework/html/blocks.h"
#include "framework/html/escape.h"
#include "framework/io/atomic_file.h"

#include <fmt/core.h>

namespace learn::html {
namespace {

std::string section_html(const Section& section, std::size_t number) {
  std::string html = fmt::format("<section id=\"s{0}\">\n<h2><a href=\"#s{0}\">{1}</a></h2>\n",
                                 number,
                                 escaped(section.title));
  for (const Block& block : section.blocks)
    html += std::visit([](const auto& one) { return html_of(one); }, block);
  return html + "</section>\n";
}

std::string lines_under_title(const Page& page) {
  std::string html = fmt::format("<p class=\"soft\">{}</p>", escaped(page.subtitle));
  for (const std::string& line : page.details)
    html += fmt::format("<p class=\"soft detail\">{}</p>", escaped(line));
  return html;
}

std::string contents(const Page& page) {
  std::string html = "<nav aria-label=\"Sections\">";
  for (std::size_t i = 0; i < page.sections.size(); ++i)
    html += fmt::format("<a href=\"#s{}\">{}</a>", i + 1, escaped(page.sections[i].title));
  return html + "</nav>\n";
}

}  // namespace

std::string render(const Page& page) {
  // The policy makes browsers enforce that nothing is loaded from anywhere.
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n<header>\n"
      "<div><h1>{0}</h1>{2}</div>\n"
      "<button id=\"theme\" type=\"button\" hidden>Light or dark</button>\n</header>\n",
      escaped(page.title),
      kPageStyle,
      lines_under_title(page));
  html += contents(page) + "<main>\n";
  for (std::size_t i = 0; i < page.sections.size(); ++i)
    html += section_html(page.sections[i], i + 1);
  html += fmt::format("</main>\n<script>\n{}</script>\n</body>\n</html>\n", kPageScript);
  return html;
}

void save(const std::filesystem::path& path, const Page& page) {
  write_file_atomically(path, render(page));
}

}  // namespace learn::html
