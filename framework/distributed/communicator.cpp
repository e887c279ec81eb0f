#include "framework/distributed/communicator.h"

#include <fmt/core.h>

namespace learn {

namespace {

void check_host(const Tensor& values) {
  check(values.device().is_cpu(),
        "a communicator without a GPU exchanges tensors of the CPU, not of {}",
        values.device());
}

}  // namespace

std::string RankPlace::name() const { return fmt::format("rank {} ({})", rank, host); }

void Communicator::gather_tensor(const Tensor& mine,
                                 std::span<const std::int64_t> counts,
                                 Tensor all) {
  check_host(mine);
  check_host(all);
  std::vector<std::size_t> sizes;
  for (const std::int64_t count : counts)
    sizes.push_back(static_cast<std::size_t>(count) * size_of(mine.dtype()));
  gather({mine.raw(), mine.bytes()}, sizes, {all.raw(), all.bytes()});
}

void Communicator::broadcast_tensor(Tensor values, int from) {
  check_host(values);
  broadcast({values.raw(), values.bytes()}, from);
}

}  // namespace learn
