#include "framework/core/error.h"
#include "framework/runtime/captured_work.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/arena.h"
#include "framework/tensor/convert.h"
#include "framework/tensor/factory.h"
#include "tests/lab/cuda/nccl/world.h"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace learn {
namespace {

using testing::gpu;
using testing::world;

int rank() { return world().place().rank; }
int ranks() { return world().place().ranks; }

/// Small whole numbers, whose sums are exact in every type; they differ between ranks.
double value_of(int from, std::int64_t i, int round = 0) {
  return static_cast<double>((i * 3 + round) % 7 + 1) * (from + 1);
}

Tensor on_host(std::int64_t size, DType dtype, int round = 0) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i) values.push_back(value_of(rank(), i, round));
  static Arena arena("values", cpu_pages());
  return from_values(arena, {size}, values, dtype);
}

Tensor on_gpu(std::int64_t size, DType dtype, int round = 0) {
  return to_device(gpu(), gpu().persistent(), on_host(size, dtype, round));
}

template <class T>
std::vector<double> doubles_of(const Tensor& values) {
  std::vector<double> all;
  for (const T value : values.span<T>()) all.push_back(as_double(value));
  return all;
}

std::vector<double> doubles(const Tensor& there) {
  const Tensor values = to_host(gpu(), there);
  switch (values.dtype()) {
    case DType::f64:
      return doubles_of<double>(values);
    case DType::f16:
      return doubles_of<Half>(values);
    case DType::bf16:
      return doubles_of<BFloat16>(values);
    case DType::i64:
      return doubles_of<std::int64_t>(values);
    default:
      return doubles_of<float>(values);
  }
}

/// The first element that is not the sum over ranks; -1 if all are.
std::int64_t first_wrong(const Tensor& there, int round = 0) {
  const std::vector<double> values = doubles(there);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (int from = 0; from < ranks(); ++from)
      sum += value_of(from, static_cast<std::int64_t>(i), round);
    if (values[i] != sum) return static_cast<std::int64_t>(i);
  }
  return -1;
}

}  // namespace

TEST_CASE("the place and host memory are the host communicator's") {
  CHECK(world().library().starts_with("NCCL 2."));
  const std::vector<int> all = gather_from_all(world(), rank());
  for (int i = 0; i < ranks(); ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
  std::array<std::byte, 3> values{static_cast<std::byte>(rank())};
  world().broadcast(values, ranks() - 1);
  CHECK(values[0] == static_cast<std::byte>(ranks() - 1));
}

TEST_CASE("values of each floating type are summed in place") {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (const std::int64_t size : {1, 3, 17, 1000, 4099}) {
      CAPTURE(size);
      const Tensor values = on_gpu(size, dtype);
      world().set_purpose("a sum");
      world().begin_sum(values);
      world().progress();
      world().finish();
      CHECK(first_wrong(values) == -1);
    }
  world().begin_sum(Tensor(gpu().persistent(), {0}, DType::f32));
  world().finish();
  world().finish();
}

TEST_CASE("sums come after earlier computation and before later") {
  const Tensor source = on_gpu(257, DType::f32);
  Tensor values = on_gpu(257, DType::f32, 1);
  std::vector<Tensor> results;
  for (int i = 0; i < 20; ++i) {
    copy(gpu(), source, values);
    world().begin_sum(values);
    world().finish();
    results.push_back(on_gpu(257, DType::f32, 2));
    copy(gpu(), values, results.back());
  }
  for (const Tensor& result : results) CHECK(first_wrong(result) == -1);
}

TEST_CASE("several sums are under way during computation") {
  std::vector<Tensor> sources;
  std::vector<Tensor> sums;
  for (int i = 0; i < 6; ++i) {
    sources.push_back(on_gpu(100 + i, DType::f32, i));
    sums.push_back(on_gpu(100 + i, DType::f32, 6));
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    copy(gpu(), sources[i], sums[i]);
    world().begin_sum(sums[i]);
  }
  world().finish();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Tensor result = on_gpu(sums[i].elements(), DType::f32, 6);
    copy(gpu(), sums[i], result);
    CHECK(first_wrong(result, static_cast<int>(i)) == -1);
  }
}

TEST_CASE("elements are gathered in the order of ranks") {
  for (const bool equal : {true, false})
    for (const DType dtype : {DType::f32, DType::i64, DType::f16}) {
      std::vector<std::int64_t> counts;
      for (int from = 0; from < ranks(); ++from) counts.push_back(equal ? 5 : 3 * from);
      const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
      const std::int64_t mine = counts[static_cast<std::size_t>(rank())];
      Tensor source = on_gpu(mine, dtype);
      Tensor sent = on_gpu(mine, dtype, 1);
      Tensor all = on_gpu(total, dtype, 2);
      if (mine > 0) copy(gpu(), source, sent);
      world().gather_tensor(sent, counts, all);
      if (mine > 0) copy(gpu(), all.rows(0, mine), sent);  // after it
      if (total == 0) continue;
      const std::vector<double> values = doubles(all);
      std::size_t at = 0;
      for (int from = 0; from < ranks(); ++from)
        for (std::int64_t i = 0; i < counts[static_cast<std::size_t>(from)]; ++i)
          CHECK(values[at++] == value_of(from, i));
    }
}

TEST_CASE("elements of one rank go to all") {
  for (int from = 0; from < ranks(); ++from) {
    Tensor source = on_gpu(9, DType::i64);
    Tensor values = on_gpu(9, DType::i64, 1);
    copy(gpu(), source, values);
    world().broadcast_tensor(values, from);
    copy(gpu(), values, source);
    const std::vector<double> received = doubles(source);
    for (std::size_t i = 0; i < received.size(); ++i)
      CHECK(received[i] == value_of(from, static_cast<std::int64_t>(i)));
  }
}

TEST_CASE("a captured step communicates at each launch") {
  std::vector<Tensor> inputs;
  for (int round = 0; round < 3; ++round) inputs.push_back(on_gpu(33, DType::f32, round));
  Tensor input = on_gpu(33, DType::f32, 3);
  Tensor sum = on_gpu(33, DType::f32, 3);
  Tensor second = on_gpu(33, DType::f32, 3);
  Tensor result = on_gpu(33, DType::f32, 3);
  Tensor mine = on_gpu(2, DType::f32);
  Tensor all = on_gpu(2 * ranks(), DType::f32);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks()), 2);
  {
    const CapturedWork step(gpu(), [&] {
      copy(gpu(), input, sum);
      world().begin_sum(sum);
      copy(gpu(), input, second);
      world().begin_sum(second);
      world().finish();
      copy(gpu(), sum, result);
      copy(gpu(), result.rows(0, 2), mine);
      world().gather_tensor(mine, counts, all);
      world().broadcast_tensor(all, 0);
    });
    CHECK(step.operations() >= 8);
    for (int round = 0; round < 3; ++round) {
      copy(gpu(), inputs[static_cast<std::size_t>(round)], input);
      step.launch();
      CHECK(first_wrong(result, round) == -1);
      CHECK(first_wrong(second, round) == -1);
      CHECK(doubles(all).back() == doubles(result)[1]);
      // Eager work between launches, as when a step is not replayed.
      copy(gpu(), inputs[0], sum);
      world().begin_sum(sum);
      world().finish();
      CHECK(first_wrong(sum) == -1);
    }
  }
}

TEST_CASE("memory that is kept is summed like other memory") {
  const Tensor values = on_gpu(1024, DType::f32);
  world().keep(values);
  world().begin_sum(values.rows(0, 512));
  world().begin_sum(values.rows(512, 512));
  world().finish();
  CHECK(first_wrong(values) == -1);
  CHECK_THROWS_AS(world().keep(on_host(3, DType::f32)), DeviceError);
}

TEST_CASE("operands that do not fit are refused before anything is sent") {
  const Tensor three = on_gpu(3, DType::f32);
  CHECK_THROWS_WITH_AS(world().begin_sum(on_host(3, DType::f32)),
                       doctest::Contains("the tensor is on cpu"),
                       DeviceError);
  CHECK_THROWS_WITH_AS(world().begin_sum(on_gpu(3, DType::i64)),
                       doctest::Contains("needs f32, f64, f16 or bf16, not i64"),
                       DTypeError);
  CHECK_THROWS_WITH_AS(world().begin_sum(three.view({3, 1})),
                       doctest::Contains("needs the shape (n), not (3,1)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      world().gather_tensor(three, {}, three), doctest::Contains("0 counts for"), ShapeError);
  CHECK_THROWS_WITH_AS(
      world().broadcast_tensor(three, ranks()), doctest::Contains("does not exist"), ShapeError);
  CHECK_THROWS_AS(world().broadcast_tensor(three, -1), ShapeError);
}

}  // namespace learn
