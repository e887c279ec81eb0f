#include "data/loading/loader.h"

#include "framework/core/error.h"
#include "tests/data/images.h"
#include "tests/support/compare.h"
#include "tests/support/log_file.h"
#include "tests/support/memory_state.h"
#include "tests/support/thread_limit.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <variant>

using namespace learn;
using namespace learn::data;

// A loader borrows the data set: one that is gone at the end of the line does not compile.
static_assert(std::is_constructible_v<Loader, Context&, Dataset&, LoaderOptions>);
static_assert(std::is_constructible_v<Loader, Context&, const Dataset&, LoaderOptions>);
static_assert(!std::is_constructible_v<Loader, Context&, Dataset, LoaderOptions>);
static_assert(!std::is_constructible_v<Loader, Context&, const Dataset, LoaderOptions>);
static_assert(!std::is_constructible_v<BatchSources, Loader>);
static_assert(!std::is_constructible_v<BatchSources, Loader&, Loader>);

namespace {

struct Copy {
  std::vector<float> x;
  std::vector<std::int64_t> y, index;
  bool operator==(const Copy&) const = default;
};

Copy copy_of(const Batch& batch) {
  const auto x = batch.x.span<float>();
  const auto y = batch.y.span<std::int64_t>();
  return {{x.begin(), x.end()}, {y.begin(), y.end()}, batch.index};
}

/// The rest of the running pass.
std::vector<Copy> rest(Loader& loader) {
  std::vector<Copy> all;
  for (Batch batch; loader.next(batch);) all.push_back(copy_of(batch));
  return all;
}

std::vector<Copy> pass(Loader& loader, std::int64_t epoch) {
  loader.begin(epoch);
  return rest(loader);
}

LoaderOptions augmented(int workers) {
  return {.batch_size = 8,
          .shuffle = true,
          .workers = workers,
          .normalization = kCifarStats,
          .transforms = {Pad{2}, RandomCrop{8}, FlipLr{}, Cutout{.length = 3}}};
}

std::vector<std::int64_t> order_of(const std::vector<Copy>& batches) {
  std::vector<std::int64_t> all;
  for (const Copy& batch : batches) all.insert(all.end(), batch.index.begin(), batch.index.end());
  return all;
}

}  // namespace

TEST_CASE("loader: a plain pass gives every sample in order, the last batch short") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(21, 4, 4, 3);
  Loader loader(ctx, set, {.batch_size = 8, .normalization = {{0, 0, 0}, {1, 1, 1}}});
  CHECK(loader.batches() == 3);
  CHECK(loader.samples() == 21);
  const std::vector<Copy> batches = pass(loader, 0);
  REQUIRE(batches.size() == 3);
  CHECK(batches[2].y.size() == 5);
  std::vector<std::int64_t> expected(21);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(order_of(batches) == expected);
  for (const Copy& batch : batches)
    for (std::size_t i = 0; i < batch.y.size(); ++i) {
      CHECK(batch.y[i] == set.labels[static_cast<std::size_t>(batch.index[i])]);
      const auto image = set.image(batch.index[i]);
      for (std::size_t p = 0; p < image.size(); ++p)
        CHECK(batch.x[i * image.size() + p] == static_cast<float>(image[p]) / 255.0F);
    }
}

TEST_CASE("loader: drop_last and max_batches") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(21, 4, 4);
  Loader dropping(ctx, set, {.batch_size = 8, .drop_last = true});
  CHECK(dropping.batches() == 2);
  CHECK(dropping.samples() == 16);
  CHECK(pass(dropping, 0).size() == 2);
  CHECK(dropping.smallest_batch() == 8);
  Loader quick(ctx, set, {.batch_size = 8, .max_batches = 1});
  CHECK(quick.samples() == 8);
  CHECK(quick.smallest_batch() == 8);
  CHECK(pass(quick, 0).size() == 1);
  Loader all(ctx, set, {.batch_size = 8, .max_batches = 9});
  CHECK(all.samples() == 21);
  CHECK(all.smallest_batch() == 5);
  Loader large(ctx, set, {.batch_size = 100});
  CHECK(large.batches() == 1);
  CHECK(pass(large, 0)[0].y.size() == 21);
}

TEST_CASE("loader: the same batches where not all workers could be started") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(45, 8, 8);
  Loader all(ctx, set, augmented(3));
  for (const int granted : {0, 1}) {
    CAPTURE(granted);
    const test::LogFile log;
    std::unique_ptr<Loader> fewer;
    {
      const test::ThreadLimit limit(granted);
      fewer = std::make_unique<Loader>(ctx, set, augmented(3));
    }
    CHECK(log.count("only 0 of 3 loader workers could be started") == (granted == 0 ? 1U : 0U));
    for (const std::int64_t epoch : {0, 1}) CHECK(pass(*fewer, epoch) == pass(all, epoch));
  }
}

TEST_CASE("loader: the same batches for any number of workers") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(45, 8, 8);
  Loader inline_loader(ctx, set, augmented(0));
  for (const int workers : {1, 3}) {
    CAPTURE(workers);
    Loader loader(ctx, set, augmented(workers));
    for (const std::int64_t epoch : {0, 1, 5})
      CHECK(pass(loader, epoch) == pass(inline_loader, epoch));
  }
}

TEST_CASE("loader: shuffling is a permutation, different in each epoch, and uniform") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(40, 2, 2);
  Loader loader(ctx, set, {.batch_size = 7, .shuffle = true, .workers = 0});
  std::vector<std::int64_t> sorted = order_of(pass(loader, 0));
  const std::vector<std::int64_t> first = sorted;
  CHECK(first != order_of(pass(loader, 1)));
  CHECK(first == order_of(pass(loader, 0)));
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t i = 0; i < 40; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);

  const Dataset four = test::small_set(4, 2, 2);
  Loader small(ctx, four, {.batch_size = 4, .shuffle = true, .workers = 0});
  std::map<std::vector<std::int64_t>, int> orders;
  for (std::int64_t epoch = 0; epoch < 4800; ++epoch) ++orders[order_of(pass(small, epoch))];
  CHECK(orders.size() == 24);
  for (const auto& [order, count] : orders)
    CHECK(std::abs(count - 200) < 5 * 14);  // deviation 13.8
}

TEST_CASE("loader: each epoch augments differently, and reproducibly") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(21, 8, 8, 3);
  LoaderOptions options = augmented(2);
  options.shuffle = false;
  Loader loader(ctx, set, options);
  const std::vector<Copy> first = pass(loader, 0);
  const std::vector<Copy> second = pass(loader, 1);
  CHECK(order_of(first) == order_of(second));
  CHECK(first[0].x != second[0].x);
  CHECK(pass(loader, 0) == first);
}

TEST_CASE(
    "loader: the augmentation of an image depends on seed, epoch and image, not on its position") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(21, 8, 8, 3);
  const auto images = [&](bool shuffle, std::uint64_t seed) {
    LoaderOptions options = augmented(1);
    options.shuffle = shuffle;
    options.seed = seed;
    Loader loader(ctx, set, options);
    std::map<std::int64_t, std::vector<float>> by_index;
    for (const Copy& batch : pass(loader, 1)) {
      const std::size_t each = batch.x.size() / batch.index.size();
      for (std::size_t i = 0; i < batch.index.size(); ++i) {
        const auto begin = batch.x.begin() + static_cast<std::ptrdiff_t>(i * each);
        by_index[batch.index[i]] = {begin, begin + static_cast<std::ptrdiff_t>(each)};
      }
    }
    return by_index;
  };
  const auto in_order = images(false, 1);
  CHECK(in_order.size() == 21);
  CHECK(images(true, 1) == in_order);
  CHECK(images(false, 2) != in_order);
}

TEST_CASE("loader: tensors stay valid until the next call") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(64, 8, 8);
  Loader loader(ctx, set, augmented(3));
  loader.begin(0);
  for (Batch batch; loader.next(batch);) {
    const Copy before = copy_of(batch);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // workers run ahead meanwhile
    CHECK(copy_of(batch) == before);
  }
}

TEST_CASE("loader: images as f16 and bf16 are the f32 ones rounded") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(10, 8, 8);
  LoaderOptions options = augmented(1);
  Loader f32(ctx, set, options);
  f32.begin(0);
  Batch full;
  REQUIRE(f32.next(full));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    options.dtype = dtype;
    Loader half(ctx, set, options);
    half.begin(0);
    Batch batch;
    REQUIRE(half.next(batch));
    CHECK(batch.x.dtype() == dtype);
    const Comparison same = all_close(batch.x, full.x, dtype == DType::f16 ? 0x1p-11 : 0x1p-8, 0);
    CHECK_MESSAGE(same, same.text);  // half a unit in the last place
  }
}

TEST_CASE("loader: a pass that is resumed gives the same remaining batches") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(45, 8, 8);
  Loader straight(ctx, set, augmented(0));
  const std::vector<Copy> whole = pass(straight, 3);
  for (const int workers : {0, 2})
    for (std::size_t stop = 0; stop <= whole.size(); ++stop) {
      CAPTURE(workers);
      CAPTURE(stop);
      Loader before(ctx, set, augmented(workers));
      before.begin(3);
      Batch batch;
      for (std::size_t b = 0; b < stop; ++b) REQUIRE(before.next(batch));
      Loader after(ctx, set, augmented(workers));
      test::load(ctx, test::save(ctx, before), after);
      const std::vector<Copy> left = pass(after, 3);
      if (stop == whole.size()) {
        CHECK(left == whole);  // a pass that had ended starts again
      } else {
        CHECK(left ==
              std::vector<Copy>(whole.begin() + static_cast<std::ptrdiff_t>(stop), whole.end()));
      }
      CHECK(pass(after, 3) == whole);  // only the first begin() continues
    }
}

TEST_CASE("loader: a resumed position is valid only for its epoch and its data") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(45, 8, 8);
  Loader straight(ctx, set, augmented(0));
  const test::MemoryState state{.integers = {{"epoch", 3}, {"batch", 2}, {"batches", 6}}};
  Loader other_epoch(ctx, set, augmented(1));
  test::load(ctx, state, other_epoch);
  CHECK(pass(other_epoch, 4) == pass(straight, 4));
  CHECK(pass(other_epoch, 3) == pass(straight, 3));

  Loader without_begin(ctx, set, augmented(1));
  test::load(ctx, state, without_begin);
  CHECK(rest(without_begin).size() == 4);

  for (const auto& [batch, batches] : {std::pair{2, 5}, {2, 7}, {7, 6}, {-1, 6}}) {
    const test::MemoryState wrong{
        .integers = {{"epoch", 3}, {"batch", batch}, {"batches", batches}}};
    CHECK_THROWS_AS(test::load(ctx, wrong, straight), CheckpointError);
  }
}

TEST_CASE("loader: an exception of a worker reaches next, and the loader can start again") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(40, 4, 4);
  for (const int workers : {0, 1, 3}) {
    CAPTURE(workers);
    std::atomic<bool> broken{true};
    LoaderOptions options{.batch_size = 4, .workers = workers};
    const std::uint8_t mark = set.image(17)[0];
    options.transforms = {PixelTransform{[&](std::span<std::uint8_t> pixels, auto) {
      if (broken && pixels[0] == mark && std::ranges::equal(pixels, set.image(17)))
        throw std::runtime_error("sample 17 is broken");
    }}};
    Loader loader(ctx, set, options);
    loader.begin(0);
    Batch batch;
    for (int b = 0; b < 4; ++b) REQUIRE(loader.next(batch));
    CHECK(test::text_of<std::runtime_error>([&] { static_cast<void>(loader.next(batch)); }) ==
          "sample 17 is broken");
    CHECK_FALSE(loader.next(batch));
    broken = false;
    CHECK(pass(loader, 0).size() == 10);
  }
}

TEST_CASE("loader: workers share a batch, and of several errors in it the first is thrown") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(100, 8, 8);
  LoaderOptions options = augmented(0);
  options.batch_size = 40;
  Loader alone(ctx, set, options);
  const std::vector<Copy> expected = pass(alone, 1);
  options.workers = 4;
  Loader shared(ctx, set, options);
  CHECK(pass(shared, 1) == expected);
  options.transforms = {ImageTransform{[&](const Image& image, RandomWords) {
    for (const std::int64_t broken : {15, 39})
      if (std::ranges::equal(image.pixels, set.image(broken)))
        throw std::runtime_error(std::to_string(broken));
  }}};
  options.shuffle = false;
  Loader failing(ctx, set, options);
  for (int round = 0; round < 5; ++round) {
    failing.begin(round);
    Batch batch;
    CHECK(test::text_of<std::runtime_error>([&] { static_cast<void>(failing.next(batch)); }) ==
          "15");
  }
}

TEST_CASE("loader: stops cleanly in the middle of a pass, at any moment") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(64, 4, 4);
  for (int round = 0; round < 60; ++round) {
    Loader loader(ctx, set, {.batch_size = 4, .workers = round % 4, .prefetch = 1 + round % 5});
    if (round % 7 == 0) continue;  // never started
    loader.begin(0);
    Batch batch;
    for (int b = 0; b < round % 17; ++b) static_cast<void>(loader.next(batch));
    if (round % 3 == 0) loader.begin(1);  // started again in the middle of a pass
  }
}

TEST_CASE("loader: next() without begin() is an empty pass") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(8, 4, 4);
  Loader loader(ctx, set, {.batch_size = 4});
  Batch batch;
  CHECK_FALSE(loader.next(batch));
}

TEST_CASE("loader: labels and values come as rows of numbers, with their images") {
  Context ctx({.threads = 1});
  Dataset set = test::small_set(9, 4, 4);
  set.labels.clear();
  set.classes = {"a", "b", "c"};
  set.target_kind = TargetKind::values;
  for (int i = 0; i < 27; ++i) set.targets.push_back(static_cast<float>(i) / 2);
  for (const int workers : {0, 2}) {
    Loader loader(ctx, set, {.batch_size = 4, .shuffle = true, .workers = workers});
    CHECK(loader.classes() == 3);
    loader.begin(0);
    std::int64_t samples = 0;
    for (Batch batch; loader.next(batch); samples += batch.size()) {
      REQUIRE(batch.y.shape() == Shape{batch.size(), 3});
      for (std::int64_t i = 0; i < batch.size(); ++i)
        CHECK(std::ranges::equal(batch.y.rows(i, 1).span<float>(),
                                 set.targets_of(batch.index[static_cast<std::size_t>(i)])));
    }
    CHECK(samples == 9);
  }
}

TEST_CASE("loader: bad options are usage errors") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(8, 4, 4);
  const auto make = [&](LoaderOptions options) { Loader(ctx, set, std::move(options)); };
  CHECK_THROWS_AS(make({.batch_size = 0}), UsageError);
  CHECK_THROWS_AS(make({.workers = -1}), UsageError);
  CHECK_THROWS_AS(make({.workers = 100000}), UsageError);
  CHECK_THROWS_AS(make({.prefetch = 0}), UsageError);
  CHECK_THROWS_AS(make({.max_batches = -1}), UsageError);
  CHECK_THROWS_AS(make({.dtype = DType::i32}), UsageError);
  CHECK_THROWS_AS(make({.transforms = {RandomCrop{32}}}), UsageError);
  CHECK_THROWS_AS(make({.batch_size = 9, .drop_last = true}), DataError);
  const Dataset empty;
  CHECK_THROWS_AS(Loader(ctx, empty, {}), DataError);
}
