// Any file as one of the plan cache, for a key that is its first bytes.
#include "framework/core/keyed_file.h"
#include "tests/lab/fuzz/fuzz.h"

using namespace learn;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::text_of({bytes, size});
  const std::string key(text.substr(0, 3));
  fuzz::may_refuse({ExitCode::io}, [&] {
    const auto value = read_keyed_file(fuzz::file_of({bytes, size}), key, 1U << 12U);
    fuzz::require(value.has_value() ==
                  (text.find('\n') == key.size() && key.find('\n') == std::string::npos));
    if (value)
      fuzz::require(text.size() == key.size() + 1 + value->size() && text.ends_with(*value));
  });
  return 0;
}
