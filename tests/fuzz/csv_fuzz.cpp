// Any file as a table of comma-separated values.
#include "framework/io/csv.h"
#include "tests/fuzz/fuzz.h"

using namespace learn;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::may_refuse({ExitCode::data}, [&] {
    const CsvTable table = read_csv(fuzz::file_of({bytes, size}));
    for (const auto& row : table.rows) fuzz::require(row.size() == table.header.size());
    for (const std::string& name : table.header)
      fuzz::require(table.header[table.column(name).value()] == name);
  });
  return 0;
}
