#include "data/loading/loader.h"
#include "framework/core/error.h"
#include "framework/tensor/factory.h"
#include "tests/data/images.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace learn;
using namespace learn::data;

namespace {

struct Samples {
  std::vector<float> x, y;
  std::vector<std::int64_t> index;
  bool operator==(const Samples&) const = default;
};

std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    values.push_back(static_cast<float>(get(tensor, i)));
  return values;
}

Samples samples_of(const Batch& batch) {
  return {values_of(batch.x), values_of(batch.y), batch.index};
}

void append(Samples& all, const Samples& rows) {
  all.x.insert(all.x.end(), rows.x.begin(), rows.x.end());
  all.y.insert(all.y.end(), rows.y.begin(), rows.y.end());
  all.index.insert(all.index.end(), rows.index.begin(), rows.index.end());
}

/// The first sample of a batch.
Samples first_of(const Samples& batch) {
  const auto take = [&](const std::vector<float>& values) {
    const auto each = static_cast<std::ptrdiff_t>(values.size() / batch.index.size());
    return std::vector<float>(values.begin(), values.begin() + each);
  };
  return {take(batch.x), take(batch.y), {batch.index.front()}};
}

/// The rest of the running pass.
std::vector<Samples> rest(Loader& loader) {
  std::vector<Samples> all;
  for (Batch batch; loader.next(batch);) {
    CHECK(batch.whole == 0);
    CHECK(batch.first == 0);
    CHECK_FALSE(batch.spare);
    all.push_back(samples_of(batch));
  }
  return all;
}

std::vector<Samples> pass(Loader& loader, std::int64_t epoch) {
  loader.begin(epoch);
  return rest(loader);
}

/// Loaders of all ranks, each with its share.
class Ranks {
 public:
  Ranks(Context& ctx, const Dataset& set, const LoaderOptions& options, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      loaders_.push_back(std::make_unique<Loader>(ctx, set, options));
      CHECK(loaders_.back()->set_share({rank, ranks}));
    }
  }
  [[nodiscard]] Loader& loader(std::size_t rank) { return *loaders_[rank]; }
  void begin(std::int64_t epoch) {
    for (const auto& loader : loaders_) loader->begin(epoch);
  }
  /// Joins the shares of each batch that is left in the pass, and compares them with `whole`.
  void check_rest(std::span<const Samples> whole) {
    std::vector<Batch> batches(loaders_.size());  // reused, as the learner does
    for (const Samples& expected : whole) {
      const auto samples = static_cast<std::int64_t>(expected.index.size());
      Samples joined;
      for (std::size_t rank = 0; rank < loaders_.size(); ++rank) {
        Batch& batch = batches[rank];
        REQUIRE(loaders_[rank]->next(batch));
        CHECK(batch.samples() == samples);
        CHECK(batch.whole == (loaders_.size() == 1 ? 0 : samples));
        if (batch.spare) {
          CHECK(batch.first == 0);
          CHECK(samples_of(batch) == first_of(expected));
        } else {
          CHECK(batch.first == std::ssize(joined.index));
          append(joined, samples_of(batch));
        }
      }
      CHECK(joined == expected);
    }
    for (std::size_t rank = 0; rank < loaders_.size(); ++rank)
      CHECK_FALSE(loaders_[rank]->next(batches[rank]));
  }

 private:
  std::vector<std::unique_ptr<Loader>> loaders_;
};

LoaderOptions augmented(std::int64_t batch_size, int workers) {
  return {.batch_size = batch_size,
          .shuffle = true,
          .workers = workers,
          .normalization = kCifarStats,
          .transforms = {Pad{2}, RandomCrop{8}, FlipLr{}, Cutout{.length = 3}}};
}

void check_shares(const Dataset& set, const LoaderOptions& options, std::int64_t epochs = 2) {
  Context ctx({.threads = 1});
  CAPTURE(options.seed);
  CAPTURE(options.batch_size);
  LoaderOptions alone = options;
  alone.workers = 0;
  Loader whole(ctx, set, alone);
  for (const int ranks : {1, 2, 3, 4}) {
    CAPTURE(ranks);
    Ranks shares(ctx, set, options, ranks);
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      CAPTURE(epoch);
      shares.begin(epoch);
      shares.check_rest(pass(whole, epoch));
    }
  }
}

}  // namespace

TEST_CASE("loader shares: joined they are the whole batches, for any number of workers") {
  // Last batches of 5 and of 1: the latter has fewer samples than there are ranks.
  for (const std::int64_t samples : {45, 41})
    for (const int workers : {0, 1, 3}) {
      CAPTURE(samples);
      CAPTURE(workers);
      const Dataset set = test::small_set(samples, 8, 8);
      check_shares(set, augmented(8, workers));
      check_shares(set, {.batch_size = 8, .workers = workers});
    }
}

TEST_CASE("loader shares: large batches, which several workers share") {
  const Dataset set = test::small_set(150, 8, 8);
  for (const int workers : {1, 3}) {
    CAPTURE(workers);
    check_shares(set, augmented(64, workers));
    LoaderOptions half = augmented(64, workers);
    half.dtype = DType::bf16;
    half.drop_last = true;
    check_shares(set, half);
  }
}

TEST_CASE("loader shares: targets that are rows of numbers, and samples drawn by weights") {
  Dataset set = test::small_set(9, 4, 4);
  set.labels.clear();
  set.classes = {"a", "b", "c"};
  set.target_kind = TargetKind::values;
  for (int i = 0; i < 27; ++i) set.targets.push_back(static_cast<float>(i) / 2);
  for (const int workers : {0, 2})
    check_shares(set,
                 {.batch_size = 4,
                  .sampling = WeightedSampling{{1, 1, 0, 9, 1, 0, 0, 0, 1}},
                  .workers = workers,
                  .transforms = {FlipLr{}}});
}

TEST_CASE("loader shares: sets of one sample and more") {
  for (const int ranks : {2, 3, 4})
    for (std::int64_t samples = 1; samples <= 2 * ranks + 1; ++samples) {
      CAPTURE(samples);
      const Dataset set = test::small_set(samples, 8, 8);
      for (const std::int64_t batch_size : {1, ranks - 1, ranks, 2 * ranks + 1})
        check_shares(set, augmented(batch_size, 1), 1);
    }
}

TEST_CASE("loader shares: a rank prepares only its rows") {
  Context ctx({.threads = 1});
  constexpr std::int64_t kSamples = 70;
  const Dataset set = test::small_set(kSamples, 4, 4);
  for (const int workers : {0, 1, 3})
    for (const int ranks : {1, 2, 3}) {
      CAPTURE(workers);
      CAPTURE(ranks);
      std::atomic<std::int64_t> all{0};
      for (int rank = 0; rank < ranks; ++rank) {
        std::atomic<std::int64_t> prepared{0};
        LoaderOptions options{.batch_size = 32, .workers = workers};
        options.transforms = {PixelTransform{[&](std::span<std::uint8_t>, auto) { ++prepared; }}};
        Loader loader(ctx, set, options);
        REQUIRE(loader.set_share({rank, ranks}));
        loader.begin(0);
        std::int64_t rows = 0;
        for (Batch batch; loader.next(batch);) rows += batch.size();
        CHECK(prepared == rows);
        all += prepared;
      }
      CHECK(all == kSamples);
    }
}

TEST_CASE("loader shares: the pass is counted in whole batches") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(21, 4, 4);
  Loader loader(ctx, set, {.batch_size = 8});
  REQUIRE(loader.set_share({.rank = 1, .ranks = 4}));
  loader.begin(0);
  CHECK(loader.batches() == 3);
  CHECK(loader.samples() == 21);
  CHECK(loader.smallest_batch() == 5);
}

TEST_CASE("loader shares: a pass resumes with another number of ranks") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(45, 8, 8);
  constexpr std::int64_t kEpoch = 3;
  Loader straight(ctx, set, augmented(8, 0));
  const std::vector<Samples> whole = pass(straight, kEpoch);
  for (const int workers : {0, 2})
    for (const auto& [before, after] : {std::pair{2, 1}, {2, 4}, {1, 3}, {4, 3}})
      for (std::size_t stop = 1; stop < whole.size(); ++stop) {
        CAPTURE(workers);
        CAPTURE(before);
        CAPTURE(after);
        CAPTURE(stop);
        Loader saved(ctx, set, augmented(8, workers));
        REQUIRE(saved.set_share({before - 1, before}));
        saved.begin(kEpoch);
        Batch batch;
        for (std::size_t b = 0; b < stop; ++b) REQUIRE(saved.next(batch));
        const test::MemoryState state = test::save(ctx, saved);
        const std::span<const Samples> left = std::span(whole).subspan(stop);

        Ranks share_first(ctx, set, augmented(8, workers), after);
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(after); ++rank)
          test::load(ctx, state, share_first.loader(rank));
        share_first.check_rest(left);  // continues at once

        Ranks state_first(ctx, set, augmented(8, workers), 1);
        test::load(ctx, state, state_first.loader(0));
        REQUIRE(state_first.loader(0).set_share({.rank = after - 1, .ranks = after}));
        state_first.begin(kEpoch);
        const RowRange mine = Share{after - 1, after}.of(std::ssize(left[0].index));
        REQUIRE(state_first.loader(0).next(batch));
        CHECK(batch.size() == mine.count);
        CHECK(batch.index ==
              std::vector<std::int64_t>(left[0].index.begin() + mine.first, left[0].index.end()));
      }
}

TEST_CASE("loader shares: a share holds from the next pass on, and whole batches come again") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(45, 8, 8);
  for (const int workers : {0, 1, 3}) {
    CAPTURE(workers);
    Loader loader(ctx, set, augmented(8, workers));
    Loader straight(ctx, set, augmented(8, 0));
    const std::vector<Samples> whole = pass(straight, 1);
    loader.begin(1);
    Batch batch;
    REQUIRE(loader.next(batch));
    REQUIRE(loader.set_share({.rank = 3, .ranks = 4}));
    CHECK(samples_of(batch) == whole[0]);
    const std::vector<Samples> unchanged = rest(loader);
    CHECK(unchanged == std::vector<Samples>(whole.begin() + 1, whole.end()));

    loader.begin(1);
    for (const Samples& expected : whole) {
      REQUIRE(loader.next(batch));
      const RowRange rows = Share{3, 4}.of(std::ssize(expected.index));
      CHECK(batch.whole == std::ssize(expected.index));
      CHECK(batch.first == rows.first);
      CHECK(batch.size() == rows.count);
    }
    batch.spare = true;  // as the last batch of another rank left it
    REQUIRE(loader.set_share({}));
    loader.begin(1);
    REQUIRE(loader.next(batch));
    CHECK(batch.whole == 0);
    CHECK(batch.first == 0);
    CHECK_FALSE(batch.spare);
    CHECK(samples_of(batch) == whole[0]);
  }
}

TEST_CASE("loader shares: ranks that do not exist are usage errors, and change nothing") {
  Context ctx({.threads = 1});
  const Dataset set = test::small_set(8, 4, 4);
  Loader loader(ctx, set, {.batch_size = 4});
  for (const Share& share : {Share{-1, 2}, Share{2, 2}, Share{0, 0}, Share{0, -1}}) {
    CAPTURE(share.rank);
    CAPTURE(share.ranks);
    CHECK(test::text_of<UsageError>([&] { static_cast<void>(loader.set_share(share)); }) ==
          "rank " + std::to_string(share.rank) + " of " + std::to_string(share.ranks) +
              " cannot have a share of the batches; ranks count from 0, and there is at least 1");
  }
  CHECK(pass(loader, 0).size() == 2);
}
