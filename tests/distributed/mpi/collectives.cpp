#include "framework/core/environment.h"
#include "framework/core/error.h"
#include "framework/core/fnv1a.h"
#include "framework/distributed/communicator_library.h"
#include "framework/tensor/arena.h"
#include "tests/distributed/host_calls.h"
#include "tests/distributed/mpi/world.h"
#include "tests/support/worse.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace learn {
namespace {

using testing::world;

/// A value that differs between ranks and elements, and is rounded in a sum.
template <class T>
T value_at(int rank, std::size_t index) {
  return static_cast<T>(std::sin(static_cast<double>(index) + 0.1) * (rank + 1) / 3);
}

template <class T>
Tensor filled(Arena& arena, std::size_t size) {
  Tensor made(arena, {static_cast<std::int64_t>(size)}, kDType<T>);
  for (std::size_t i = 0; i < size; ++i) made.span<T>()[i] = value_at<T>(world().place().rank, i);
  return made;
}

/// The first element that is not the sum over ranks; -1 if all are.
template <class T>
std::int64_t first_wrong(const Tensor& values) {
  for (std::size_t i = 0; i < values.span<T>().size(); ++i) {
    double sum = 0;
    for (int rank = 0; rank < world().place().ranks; ++rank) sum += value_at<T>(rank, i);
    const double bound = sizeof(T) == 8 ? 1e-14 : 1e-6;
    if (!(std::abs(static_cast<double>(values.span<T>()[i]) - sum) < bound))
      return static_cast<std::int64_t>(i);
  }
  return -1;
}

/// One value of each rank, in the order of ranks.
std::vector<std::uint64_t> from_all(std::uint64_t mine) {
  const auto ranks = static_cast<std::size_t>(world().place().ranks);
  std::vector<std::uint64_t> all(ranks);
  const std::vector<std::size_t> sizes(ranks, sizeof mine);
  world().gather(std::as_bytes(std::span(&mine, 1)), sizes, std::as_writable_bytes(std::span(all)));
  return all;
}

bool same_on_all(const Tensor& values) {
  const auto* const begin = reinterpret_cast<const char*>(values.raw());
  const std::vector<std::uint64_t> all = from_all(fnv1a({begin, values.bytes()}));
  return std::all_of(all.begin(), all.end(), [&](std::uint64_t a) { return a == all.front(); });
}

template <class T>
void check_sums() {
  Arena arena("test", cpu_pages());
  for (const std::size_t size : {0U, 1U, 2U, 3U, 17U, 1000U, 4099U, 65537U, 1000003U}) {
    CAPTURE(size);
    Tensor values = filled<T>(arena, size);
    world().begin_sum(values);
    world().finish();
    CHECK(first_wrong<T>(values) == -1);
    CHECK(same_on_all(values));
  }
}

}  // namespace

TEST_CASE("the place is the one that the launcher gave") {
  const RankPlace& place = world().place();
  if (const char* const ranks = environment("OMPI_COMM_WORLD_SIZE"); ranks != nullptr)
    CHECK(std::to_string(place.ranks) == ranks);
  const auto ranks = from_all(static_cast<std::uint64_t>(place.rank));
  for (std::size_t i = 0; i < ranks.size(); ++i) CHECK(ranks[i] == i);
  CHECK(place.local_ranks == place.ranks);
  CHECK(place.local_rank == place.rank);
  CHECK(place.name() == "rank " + std::to_string(place.rank) + " (" + place.host + ")");
  CHECK(!place.host.empty());
  CHECK(world().library().find_first_of("0123456789") != std::string::npos);
  CHECK(mpi_report().library == world().library());
}

TEST_CASE("f32 is summed over all ranks with the same bits") { check_sums<float>(); }

TEST_CASE("f64 is summed over all ranks with the same bits") { check_sums<double>(); }

TEST_CASE("halves are summed over all ranks and rounded with the same bits") {
  Arena arena("test", cpu_pages());
  const auto check_halves = [&]<class T>(T (*rounded)(float), double unit) {
    for (const std::size_t size : {0U, 1U, 17U, 65537U}) {
      CAPTURE(size);
      Tensor values(arena, {static_cast<std::int64_t>(size)}, kDType<T>);
      for (std::size_t i = 0; i < size; ++i)
        values.span<T>()[i] = rounded(value_at<float>(world().place().rank, i));
      world().begin_sum(values);
      world().finish();
      CHECK(same_on_all(values));
      const int ranks = world().place().ranks;
      double worst = 0;
      for (std::size_t i = 0; i < size; ++i) {
        double sum = 0;
        double magnitude = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          sum += to_float(rounded(value_at<float>(rank, i)));
          magnitude += std::abs(value_at<float>(rank, i));
        }
        // One rounding, of half a unit, for each addition of partial sums.
        const double bound = (ranks - 1) * unit / 2 * magnitude * (1 + ranks * unit);
        worst = test::worse(worst, std::abs(to_float(values.span<T>()[i]) - sum) - bound);
      }
      CHECK(worst <= 0);
    }
  };
  check_halves(&to_half, 0x1p-10);
  check_halves(&to_bfloat16, 0x1p-7);
}

TEST_CASE("several sums may be under way while a rank works on something else") {
  Arena arena("test", cpu_pages());
  world().set_purpose("many sums");
  std::vector<Tensor> sums;
  for (std::size_t i = 0; i < 40; ++i) {
    sums.push_back(i % 2 == 0 ? filled<float>(arena, 1000 * i + 1)
                              : filled<double>(arena, 777 * i));
    world().begin_sum(sums.back());
    if (i % 3 == static_cast<std::size_t>(world().place().rank)) world().progress();
  }
  world().progress();
  world().finish();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    CAPTURE(i);
    CHECK((i % 2 == 0 ? first_wrong<float>(sums[i]) : first_wrong<double>(sums[i])) == -1);
    CHECK(same_on_all(sums[i]));
  }
  world().finish();
}

TEST_CASE("a sum without an end is complete after enough progress") {
  Arena arena("test", cpu_pages());
  Tensor values = filled<float>(arena, 100000);
  Tensor whole = filled<float>(arena, 100000);
  world().begin_sum(values);
  world().begin_sum(whole);
  for (int i = 0; i < 1000; ++i) world().progress();
  world().finish();
  CHECK(first_wrong<float>(values) == -1);
}

TEST_CASE("not-a-number and infinity survive a sum") {
  Arena arena("test", cpu_pages());
  Tensor values = filled<float>(arena, 3);
  const int last = world().place().ranks - 1;
  if (world().place().rank == last) values.span<float>()[0] = NAN;
  if (world().place().rank == 0) values.span<float>()[2] = INFINITY;
  world().begin_sum(values);
  world().finish();
  CHECK(std::isnan(values.span<float>()[0]));
  CHECK(std::isinf(values.span<float>()[2]));
}

TEST_CASE("bytes of different sizes are gathered in the order of ranks") {
  for (const std::size_t unit : {0U, 1U, 999U, 200001U}) {
    CAPTURE(unit);
    CHECK(testing::gathers(world(), unit));
  }
}

TEST_CASE("the bytes of one rank go to all") {
  for (const std::size_t size : {0U, 1U, 13U, 1000000U}) {
    CAPTURE(size);
    CHECK(testing::broadcasts(world(), size));
  }
}

TEST_CASE("a gathering ends sums that are under way") {
  Arena arena("test", cpu_pages());
  Tensor values = filled<float>(arena, 5000);
  world().begin_sum(values);
  CHECK(from_all(1).size() == static_cast<std::size_t>(world().place().ranks));
  CHECK(first_wrong<float>(values) == -1);
}

TEST_CASE("operands that do not fit are refused before anything is sent") {
  Arena arena("test", cpu_pages());
  CHECK_THROWS_WITH_AS(
      world().begin_sum(Tensor(arena, {2, 2}, DType::f32)),
      doctest::Contains("needs (n) f32, f64, f16 or bf16 on the CPU, not (2,2) f32"),
      ShapeError);
  CHECK_THROWS_AS(world().begin_sum(Tensor(arena, {2}, DType::i32)), ShapeError);
  std::array<std::byte, 1> one{};
  CHECK_THROWS_AS(world().gather(one, {}, one), ShapeError);
  CHECK_THROWS_WITH_AS(world().broadcast(one, world().place().ranks),
                       doctest::Contains("does not exist"),
                       ShapeError);
  CHECK_THROWS_AS(world().broadcast(one, -1), ShapeError);
}

}  // namespace learn
