// Any bytes as records of CIFAR, and what follows the records as class names: the first byte says
// how many of each.
#include "data/sets/cifar10.h"
#include "tests/lab/fuzz/fuzz.h"

#include <sstream>

using namespace learn;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const bool hundred = (bytes[0] & 1U) != 0;
  const data::CifarFormat format = hundred ? data::CifarFormat{2, 1, 100} : data::CifarFormat{};
  const std::int64_t records = (bytes[0] >> 1U) & 3U;
  const std::span<const std::uint8_t> rest{bytes + 1, size - 1};
  const auto wanted = static_cast<std::size_t>(records * (format.label_bytes + 3072));
  fuzz::may_refuse({ExitCode::data}, [&] {
    data::Dataset set;
    set.height = set.width = 32;
    // With the highest bit, all there is: too little or too much.
    const std::size_t taken = bytes[0] >= 128 ? rest.size() : std::min(rest.size(), wanted);
    // In memory of exactly that size, so that a read past its end is detected.
    const std::vector<std::uint8_t> file(rest.begin(),
                                         rest.begin() + static_cast<std::ptrdiff_t>(taken));
    data::add_cifar_records(file, "fuzz.bin", format, records, set);
    fuzz::require(set.size() == records);
    fuzz::require(static_cast<std::int64_t>(set.pixels.size()) == records * 3072);
    for (const std::int64_t label : set.labels) fuzz::require(label >= 0 && label < format.classes);
    std::istringstream names(std::string(fuzz::text_of(rest.subspan(taken))));
    for (std::string line; std::getline(names, line);) set.classes.push_back(line);
    data::check_class_names(set.classes, "fuzz.txt");
  });
  return 0;
}
