// Any text as a table of comma-separated values, of tabs, or of a spreadsheet.
#include "framework/io/csv.h"
#include "tests/lab/fuzz/fuzz.h"

using namespace learn;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(bytes, bytes + size);
  for (const char separator : {',', '\t', '\0'})
    fuzz::may_refuse({ExitCode::data}, [&] {
      const CsvTable table = separator == '\0' ? parse_spreadsheet(text, "x.csv")
                                               : parse_csv(text, "x.csv", separator);
      fuzz::require(!table.header.empty() && table.rows.size() == table.lines.size());
      std::size_t line = table.header_line;
      for (std::size_t i = 0; i < table.rows.size(); ++i) {
        fuzz::require(table.rows[i].size() == table.header.size());
        fuzz::require(table.lines[i] > line && table.lines[i] <= size);
        line = table.lines[i];
      }
      for (const std::string& name : table.header)
        fuzz::require(table.header[table.column(name).value()] == name);
    });
  return 0;
}
