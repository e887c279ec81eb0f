// Any text as the record of a run: what is accepted says the same when it is written again.
#include "framework/runs/run_record.h"
#include "tests/lab/fuzz/fuzz.h"

using namespace learn;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::may_refuse({ExitCode::data}, [&] {
    const RunRecord record = parse_run_record(fuzz::text_of({bytes, size}), "fuzz");
    const std::string text = run_record_text(record);
    fuzz::require(run_record_text(parse_run_record(text, "again")) == text);
  });
  return 0;
}
