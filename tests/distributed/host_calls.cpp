#include "tests/distributed/host_calls.h"

#include <algorithm>
#include <vector>

namespace learn::testing {
namespace {

using Bytes = std::vector<std::byte>;

/// Bytes that depend on the rank, and repeat after a number of bytes that no message is divided at.
Bytes bytes_of(std::size_t rank, std::size_t size) {
  constexpr std::size_t kPeriod = 65521;
  Bytes bytes(size);
  for (std::size_t i = 0; i < std::min(size, kPeriod); ++i)
    bytes[i] = static_cast<std::byte>((i * 2654435761U >> 16U) + rank * 31);
  for (std::size_t i = kPeriod; i < size; i += kPeriod)
    std::copy_n(bytes.data(), std::min(kPeriod, size - i), bytes.data() + i);
  return bytes;
}

}  // namespace

bool gathers(Communicator& ranks, std::size_t unit) {
  std::vector<std::size_t> sizes;
  Bytes expected;
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks.place().ranks); ++r) {
    sizes.push_back(unit * r);  // none from rank 0
    const Bytes bytes = bytes_of(r, sizes.back());
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  }
  const auto rank = static_cast<std::size_t>(ranks.place().rank);
  Bytes all(expected.size());
  ranks.gather(bytes_of(rank, sizes[rank]), sizes, all);
  return all == expected;
}

bool broadcasts(Communicator& ranks, std::size_t size) {
  bool well = true;
  for (int from = 0; from < ranks.place().ranks; ++from) {
    Bytes values = bytes_of(static_cast<std::size_t>(ranks.place().rank), size);
    ranks.broadcast(values, from);
    well = well && values == bytes_of(static_cast<std::size_t>(from), size);
  }
  return well;
}

}  // namespace learn::testing
