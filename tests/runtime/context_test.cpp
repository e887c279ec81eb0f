#include "framework/runtime/context.h"

#include "framework/core/processors.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("more threads than processors twice over are a warning, and are there") {
  const int processors = usable_processors();
  CHECK(physical_cores() <= processors);
  for (const int more : {0, 1}) {
    const test::LogFile log;
    Context ctx({.device = Device::cpu(), .threads = 2 * processors + more});
    CHECK(ctx.threads().threads() == 2 * processors + more);
    CHECK(log.count("more threads than cores gain nothing") == static_cast<std::size_t>(more));
  }
}
