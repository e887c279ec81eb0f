#include "framework/distributed/communicator.h"

#include "framework/distributed/rank_texts.h"

#include <fmt/core.h>

#include <numeric>

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

void Communicator::call_roll(const std::string& /*failure*/) {
  set_purpose(kRollCall);
  (void)gather_from_all(*this, std::byte{});
}

void Communicator::check_gather(std::span<const std::byte> mine,
                                std::span<const std::size_t> sizes,
                                std::span<const std::byte> all) const {
  const auto ranks = static_cast<std::size_t>(place().ranks);
  check(sizes.size() == ranks && sizes[static_cast<std::size_t>(place().rank)] == mine.size() &&
            std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) == all.size(),
        "gather: {} sizes for {} ranks, {} bytes of this rank and {} of all do not fit",
        sizes.size(),
        ranks,
        mine.size(),
        all.size());
}

void Communicator::check_broadcast(int from) const {
  check(from >= 0 && from < place().ranks,
        "broadcast: rank {} of {} does not exist",
        from,
        place().ranks);
}

}  // namespace learn
