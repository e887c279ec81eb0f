// Any text as a table of labels.
#include "data/csv_table.h"
#include "tests/fuzz/fuzz.h"

using namespace learn;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  for (const char separator : {',', '\t'})
    fuzz::may_refuse({ExitCode::data}, [&] {
      const data::TextTable table = data::parse_table({bytes, size}, separator, "x.csv");
      fuzz::require(!table.header.empty() && !table.rows.empty());
      std::size_t line = 1;
      for (const data::TextTable::Row& row : table.rows) {
        fuzz::require(row.cells.size() == table.header.size());
        fuzz::require(row.line >= line && row.line <= size);
        line = row.line;
      }
    });
  return 0;
}
