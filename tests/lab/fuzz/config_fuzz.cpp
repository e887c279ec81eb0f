// Any text as a configuration, of options of every kind.
#include "apps/experiment/config_file.h"
#include "framework/core/log.h"
#include "tests/lab/fuzz/fuzz.h"

using namespace learn;

namespace {

struct Fields {
  bool flag = true;
  std::int64_t integer = 1;
  double real = 0.1;
  std::string text = "train";
  std::vector<std::string> list;
  OptionTable table;
  Fields() {
    table.group("Options");
    table.flag("plots", flag, "");
    table.number("epochs", integer, kPositive, "N", "");
    table.number("lr", real, kPositive, "X", "");
    table.text("name", text, "NAME", "");
    table.list("classes", list, ',', "A,B", "");
  }
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string source(fuzz::text_of({bytes, size}));
  fuzz::may_refuse({ExitCode::usage}, [&] {
    Fields fields;
    set_options(fields.table, parse_config(source, "fuzz.toml", "train", fields.table));
    fuzz::require(fields.integer > 0 && fields.real > 0);
    // A written configuration is read back unchanged.
    const std::string written = write_config(fields.table, "train");
    Fields again;
    set_options(again.table, parse_config(written, "written.toml", "train", again.table));
    fuzz::require(write_config(again.table, "train") == written);
    fuzz::require(again.text == fields.text && again.list == fields.list);
  });
  return 0;
}
