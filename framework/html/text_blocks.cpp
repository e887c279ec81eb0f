#include "framework/core/error.h"
#include "framework/html/blocks.h"
#include "framework/html/escape.h"

namespace learn::html {
namespace {

std::string cell(const char* tag, const std::string& attributes, const std::string& text) {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, attributes, escaped(text));
}

std::string row_of(const Table& table, const Table::Row& row) {
  check<UsageError>(row.cells.size() <= table.columns.size(),
                    "a row of {} cells in a table of {} columns",
                    row.cells.size(),
                    table.columns.size());
  std::string html = row.same ? "<tr class=\"same\">" : "<tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string text = i < row.cells.size() ? row.cells[i] : "";
    const std::string number = table.columns[i].number ? " class=\"number\"" : "";
    html += i == 0 ? cell("th", " scope=\"row\"" + number, text) : cell("td", number, text);
  }
  return html + "</tr>\n";
}

std::string head_of(const Table& table) {
  if (table.pairs) return "";
  std::string html = "<thead><tr>";
  for (const Table::Column& column : table.columns)
    html += cell("th",
                 std::string(" scope=\"col\"") + (column.number ? " class=\"number\"" : ""),
                 column.title);
  return html + "</tr></thead>\n";
}

}  // namespace

std::string html_of(const Heading& heading) { return cell("h3", "", heading.text) + "\n"; }

std::string html_of(const Note& note) {
  return cell("p", note.warning ? " class=\"warning\" role=\"note\"" : "", note.text) + "\n";
}

std::string html_of(const Facts& facts) {
  std::string html = "<dl class=\"facts\">\n";
  for (const Facts::Fact& fact : facts.facts)
    html += "<div>" + cell("dt", "", fact.name) + cell("dd", "", fact.value) +
            (fact.detail.empty() ? "" : cell("dd", " class=\"detail\"", fact.detail)) + "</div>\n";
  return html + "</dl>\n";
}

std::string html_of(const Table& table) {
  std::string html = table.pairs ? "<div class=\"table pairs\">\n" : "<div class=\"table\">\n";
  if (table.hides_same)
    html +=
        "<label class=\"toggle\"><input type=\"checkbox\" checked> only what differs</label>\n"
        "<p class=\"none soft\">Nothing differs.</p>\n";
  html += "<div class=\"scroll\" tabindex=\"0\"><table>\n" + head_of(table) + "<tbody>\n";
  for (const Table::Row& row : table.rows) html += row_of(table, row);
  return html + "</tbody>\n</table></div>\n</div>\n";
}

}  // namespace learn::html
