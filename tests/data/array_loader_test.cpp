#include "data/array_loader.h"

#include "framework/tensor/host_tensor.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace learn;
using data::ArrayLoader;
using data::Arrays;

namespace {

/// `count` samples of shape {2}: sample i is {i, -i}, of class i % 3.
Arrays numbered(int count) {
  Arrays out{.sample = {2}};
  for (int i = 0; i < count; ++i) {
    out.x.insert(out.x.end(), {static_cast<float>(i), -static_cast<float>(i)});
    out.classes.push_back(i % 3);
  }
  return out;
}

std::vector<std::vector<std::int64_t>> pass(ArrayLoader& loader, std::int64_t epoch) {
  std::vector<std::vector<std::int64_t>> out;
  loader.begin(epoch);
  for (Batch batch; loader.next(batch);) {
    CHECK(batch.x.shape() == Shape{batch.size(), 2});
    for (std::int64_t i = 0; i < batch.size(); ++i) {
      const auto sample = batch.index[static_cast<std::size_t>(i)];
      CHECK(batch.x.span<float>()[static_cast<std::size_t>(2 * i)] == static_cast<float>(sample));
      CHECK(batch.x.span<float>()[static_cast<std::size_t>(2 * i + 1)] ==
            -static_cast<float>(sample));
      CHECK(batch.y.span<std::int64_t>()[static_cast<std::size_t>(i)] == sample % 3);
    }
    out.push_back(batch.index);
  }
  return out;
}

}  // namespace

TEST_CASE("arrays come in batches, in order, with a short last one or without") {
  Context ctx({.threads = 1});
  using Order = std::vector<std::vector<std::int64_t>>;
  ArrayLoader all(ctx, numbered(5), {.batch_size = 2});
  CHECK(all.batches() == 3);
  CHECK(all.samples() == 5);
  CHECK(all.classes() == 3);
  CHECK(all.sample_shape() == Shape{2});
  CHECK(pass(all, 0) == Order{{0, 1}, {2, 3}, {4}});
  ArrayLoader full(ctx, numbered(5), {.batch_size = 2, .drop_last = true});
  CHECK(full.samples() == 4);
  CHECK(pass(full, 0) == Order{{0, 1}, {2, 3}});
  ArrayLoader one(ctx, numbered(5), {.batch_size = 64});
  CHECK(pass(one, 3) == Order{{0, 1, 2, 3, 4}});
}

TEST_CASE("a shuffled order is a function of seed and epoch, and holds every sample once") {
  Context ctx({.threads = 1});
  const auto order = [&](std::uint64_t seed, std::int64_t epoch) {
    ArrayLoader loader(ctx, numbered(50), {.batch_size = 50, .shuffle = true, .seed = seed});
    return pass(loader, epoch).at(0);
  };
  CHECK(order(1, 0) == order(1, 0));
  CHECK(order(1, 0) != order(1, 1));
  CHECK(order(1, 0) != order(2, 0));
  auto sorted = order(1, 0);
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t i = 0; i < 50; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("real targets come with as many numbers per sample as there are") {
  Context ctx({.threads = 1});
  ArrayLoader loader(
      ctx, {.x = {1, 2, 3}, .sample = {1}, .targets = {10, 11, 20, 21, 30, 31}}, {.batch_size = 2});
  CHECK(loader.classes() == 2);
  loader.begin(0);
  Batch batch;
  REQUIRE(loader.next(batch));
  REQUIRE(loader.next(batch));
  CHECK(batch.y.shape() == Shape{1, 2});
  CHECK(batch.y.span<float>()[0] == 30);
  CHECK(batch.y.span<float>()[1] == 31);
  CHECK_FALSE(loader.next(batch));
}

TEST_CASE("real targets are shuffled with their samples") {
  Context ctx({.threads = 1});
  Arrays arrays{.sample = {1}};
  for (int i = 0; i < 20; ++i) {
    arrays.x.push_back(static_cast<float>(i));
    arrays.targets.push_back(static_cast<float>(100 + i));
  }
  ArrayLoader loader(ctx, arrays, {.batch_size = 20, .shuffle = true});
  loader.begin(0);
  Batch batch;
  REQUIRE(loader.next(batch));
  CHECK_FALSE(std::ranges::is_sorted(batch.index));
  for (std::size_t i = 0; i < 20; ++i)
    CHECK(batch.y.span<float>()[i] == 100 + batch.x.span<float>()[i]);
}

TEST_CASE("a pass over arrays that was saved in the middle continues there") {
  Context ctx({.threads = 1});
  const data::ArrayLoaderOptions options{.batch_size = 2, .shuffle = true};
  ArrayLoader whole(ctx, numbered(9), options);
  const auto expected = pass(whole, 1);
  ArrayLoader first(ctx, numbered(9), options);
  first.begin(1);
  Batch batch;
  for (int i = 0; i < 2; ++i) REQUIRE(first.next(batch));
  const test::MemoryState saved = test::save(ctx, first);
  ArrayLoader second(ctx, numbered(9), options);
  test::load(ctx, saved, second);
  CHECK(pass(second, 1) == decltype(expected)(expected.begin() + 2, expected.end()));
  CHECK(pass(second, 1) == expected);  // that was once
  ArrayLoader other(ctx, numbered(11), options);
  CHECK_THROWS_WITH_AS(
      test::load(ctx, saved, other), doctest::Contains("batch 2 of 5"), CheckpointError);
}

TEST_CASE("arrays that do not fit together are refused with both numbers") {
  Context ctx({.threads = 1});
  const auto refused = [&](Arrays arrays, const char* text) {
    CHECK_THROWS_WITH_AS(ArrayLoader(ctx, std::move(arrays)), doctest::Contains(text), DataError);
  };
  refused({.x = {1, 2, 3}, .sample = {2}, .classes = {0}}, "3 numbers are no samples of shape");
  refused({.sample = {2}}, "0 numbers");
  refused({.x = {1, 2}, .sample = {2}}, "classes or targets");
  refused({.x = {1, 2}, .sample = {2}, .classes = {0}, .targets = {1}}, "one of the two");
  refused({.x = {1, 2}, .sample = {1}, .classes = {0}}, "1 classes for 2 samples");
  refused({.x = {1, 2}, .sample = {1}, .targets = {1, 2, 3}}, "3 targets for 2 samples");
  refused({.x = {1, 2}, .sample = {1}, .classes = {0, -1}}, "class -1 of sample 1 is negative");
  CHECK_THROWS_AS(ArrayLoader(ctx, numbered(3), {.batch_size = 0}), UsageError);
  CHECK_THROWS_AS(ArrayLoader(ctx, numbered(3), {.batch_size = 4, .drop_last = true}), DataError);
}
