// Any bytes as a file of an array: what is read has as many numbers as its shape says.
#include "data/sets/array_file.h"
#include "tests/lab/fuzz/fuzz.h"

using namespace learn;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::may_refuse({ExitCode::data}, [&] {
    const data::ArrayFile array = data::read_array({bytes, size});
    std::size_t numbers = 1;
    for (const std::int64_t extent : array.shape) numbers *= static_cast<std::size_t>(extent);
    fuzz::require(array.data.size() == numbers * static_cast<std::size_t>(array.bytes));
    const bool whole = array.kind == 'u' || array.kind == 'i';
    for (std::size_t i = 0; whole && i < numbers; ++i) static_cast<void>(array.whole_number(i));
    fuzz::require(!array.text().empty());
  });
  return 0;
}
