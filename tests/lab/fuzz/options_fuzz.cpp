// Any text as the configuration of an experiment, with the options that `learn train` has.
#include "apps/experiment/config_file.h"
#include "apps/experiment/options.h"
#include "tests/lab/fuzz/fuzz.h"

using namespace learn;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string source(fuzz::text_of({bytes, size}));
  fuzz::may_refuse({ExitCode::usage}, [&] {
    ExperimentOptions options;
    const OptionTable table = options.table();
    set_options(table, parse_config(source, "fuzz.toml", "train", table));
    const std::string written = write_config(table, "train");
    ExperimentOptions again;
    const OptionTable same = again.table();
    set_options(same, parse_config(written, "written.toml", "train", same));
    fuzz::require(write_config(same, "train") == written);
    options.check();
  });
  return 0;
}
