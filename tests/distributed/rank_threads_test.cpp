#include "tests/support/rank_threads.h"

#include "framework/tensor/arena.h"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace learn {
namespace {

using testing::RankEnded;
using testing::run_ranks;
using testing::ThreadCommunicator;

TEST_CASE("Values are summed over ranks in f32 and f64, several at a time") {
  for (const int ranks : {1, 2, 3, 4})
    run_ranks(ranks, [&](ThreadCommunicator& communicator) {
      Arena arena("test", cpu_pages());
      Tensor halves(arena, {3}, DType::f32);
      Tensor wide(arena, {1}, DType::f64);
      for (float& value : halves.span<float>())
        value = 1 + static_cast<float>(communicator.place().rank);
      wide.span<double>()[0] = 0.5;
      communicator.begin_sum(halves);
      communicator.begin_sum(wide);
      communicator.finish();
      const auto sum = static_cast<float>(ranks * (ranks + 1)) / 2;
      for (const float value : halves.span<float>()) CHECK(value == sum);
      CHECK(wide.span<double>()[0] == 0.5 * ranks);
      CHECK(communicator.traffic().sums == 2);
      CHECK(communicator.traffic().summed_bytes == 20);
    });
}

TEST_CASE("Bytes are gathered in the order of ranks, and one rank sends its bytes to all") {
  run_ranks(3, [](ThreadCommunicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.place().rank);
    const std::vector<std::byte> mine(rank, static_cast<std::byte>(rank));  // none from rank 0
    const std::array<std::size_t, 3> sizes{0, 1, 2};
    std::array<std::byte, 3> all{};
    communicator.gather(mine, sizes, all);
    CHECK(all == std::array{std::byte{1}, std::byte{2}, std::byte{2}});
    std::array value{static_cast<std::byte>(rank)};
    communicator.broadcast(value, 2);
    CHECK(value[0] == std::byte{2});
  });
}

TEST_CASE("A rank that does not come is named after the deadline") {
  CHECK_THROWS_WITH_AS(run_ranks(3,
                                 [](ThreadCommunicator& communicator) {
                                   communicator.set_purpose("the gradients of batch 7");
                                   if (communicator.place().rank == 1) return;
                                   std::array<std::byte, 1> value{};
                                   communicator.broadcast(value, 0);
                                 },
                                 {.deadline = std::chrono::milliseconds(50)}),
                       "rank 1 (testhost) did not come to the gradients of batch 7",
                       RanksError);
}

TEST_CASE("Different calls on two ranks are an error, and so is the end of one") {
  CHECK_THROWS_AS(run_ranks(2,
                            [](ThreadCommunicator& communicator) {
                              Arena arena("test", cpu_pages());
                              Tensor values(arena, {2 + communicator.place().rank}, DType::f32);
                              communicator.begin_sum(values);
                              communicator.finish();
                            }),
                  RanksError);
  CHECK_THROWS_AS(run_ranks(2,
                            [](ThreadCommunicator& communicator) {
                              if (communicator.place().rank == 0)
                                communicator.end_all(ExitCode::io);
                              std::array<std::byte, 1> value{};
                              communicator.broadcast(value, 1);
                            }),
                  RankEnded);
}

}  // namespace
}  // namespace learn
