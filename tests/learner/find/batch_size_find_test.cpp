#include "framework/learner/find/batch_size_find.h"

#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

using namespace std::chrono_literals;
using namespace tiny;

namespace {

/// Four batches of the requested size, for any number of samples.
std::unique_ptr<BatchSource> four_batches(std::int64_t size) {
  return std::make_unique<Data>(std::vector<std::int64_t>(4, size));
}

std::vector<std::int64_t> sizes_of(const BatchSizeFindResult& found) {
  std::vector<std::int64_t> sizes;
  for (const BatchSizeTrial& one : found.trials) sizes.push_back(one.batch_size);
  return sizes;
}

/// Needs room for that many samples at once, in the arena of the step.
class Greedy final : public Callback {
 public:
  explicit Greedy(std::int64_t most) : most_(most) {}
  [[nodiscard]] std::string_view name() const override { return "greedy"; }
  void loss_begin(Learner& learn) override {
    if (learn.batch().size() > most_) fail<OutOfMemoryError>("no room");
    block_ = learn.context().step().allocate(static_cast<std::size_t>(learn.batch().size()) << 12U);
  }
  void batch_end(Learner&) override { block_ = {}; }

 private:
  std::int64_t most_;
  Storage block_;
};

/// Ends the training in that batch, counted over all trainings, as Ctrl-C would.
class Interruption final : public Callback {
 public:
  explicit Interruption(int batch) : left_(batch) {}
  [[nodiscard]] std::string_view name() const override { return "interruption"; }
  void batch_end(Learner& learn) override {
    if (--left_ == 0) learn.cancel(Scope::train);
  }

 private:
  int left_;
};

/// Makes each batch take two milliseconds longer than the one before.
class Slower final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "slower"; }
  void loss_begin(Learner&) override { std::this_thread::sleep_for(2ms * ++batches_); }

 private:
  int batches_ = 0;
};

}  // namespace

TEST_CASE("a batch size finder doubles the size until samples end and leaves no trace") {
  Training t({8, 8, 8, 8}, {2});
  const std::vector<double> before = values(t.learn.params().flat_master());
  const BatchSizeFindResult found =
      t.learn.batch_size_find(four_batches, {.smallest = 4, .steps = 3});
  CHECK(sizes_of(found) == std::vector<std::int64_t>{4, 8, 16, 32});
  CHECK(found.ended == BatchSizeFindEnd::samples);
  CHECK(found.why() == "no more samples for a larger batch");
  for (const BatchSizeTrial& one : found.trials) {
    CHECK(one.step_seconds > 0);
    CHECK(one.samples_per_second ==
          doctest::Approx(static_cast<double>(one.batch_size) / one.step_seconds));
  }
  REQUIRE(found.suggested() != nullptr);
  CHECK(values(t.learn.params().flat_master()) == before);
  CHECK(&t.learn.train_source() == &t.train);
  CHECK(t.learn.valid_source() == &t.valid);
  CHECK(t.learn.progress().batch_clock == 0);
}

TEST_CASE("a batch size finder ends at the largest size") {
  Training t({8, 8, 8, 8}, {});
  const BatchSizeFindResult found =
      t.learn.batch_size_find(four_batches, {.smallest = 3, .largest = 20, .steps = 1});
  CHECK(sizes_of(found) == std::vector<std::int64_t>{3, 6, 12});
  CHECK(found.ended == BatchSizeFindEnd::done);
  CHECK(found.why() == "all sizes up to 12 fit in memory");
}

TEST_CASE("a batch size that does not fit in memory is a result") {
  Training t({16, 16, 16, 16}, {});
  t.learn.add<Greedy>(16);
  const BatchSizeFindResult found = t.learn.batch_size_find(four_batches, {.steps = 2});
  CHECK(sizes_of(found) == std::vector<std::int64_t>{8, 16});
  CHECK(found.ended == BatchSizeFindEnd::memory);
  CHECK(found.refused == 32);
  CHECK(found.why() == "a batch of 32 does not fit in memory");
  CHECK(found.trials[0].bytes >= 8U << 12U);
  CHECK(found.trials[1].bytes >= 16U << 12U);
  CHECK(found.trials[1].bytes < 32U << 12U);
  CHECK(found.trials[0].bytes < 16U << 12U);  // its own peak, and not that of a larger one

  const BatchSizeFindResult none =
      t.learn.batch_size_find(four_batches, {.smallest = 32, .steps = 2});
  CHECK(none.trials.empty());
  CHECK(none.refused == 32);
  CHECK(none.suggested() == nullptr);
  t.learn.fit(1, 0.1F);  // still fit for use
}

TEST_CASE("a batch size that would need too much memory is not tried") {
  Training t({64}, {});
  t.learn.add<Greedy>(64);
  const std::size_t memory = 70U << 10U;  // 16 samples take 64 KiB and some tensors
  const BatchSizeFindResult found =
      t.learn.batch_size_find(four_batches, {.steps = 2, .memory = memory});
  CHECK(sizes_of(found) == std::vector<std::int64_t>{8, 16});
  CHECK(found.refused == 32);
}

TEST_CASE("a batch size finder ends where it is interrupted") {
  Training t({64}, {});
  t.learn.add<Interruption>(6);
  const BatchSizeFindResult found = t.learn.batch_size_find(four_batches, {.steps = 2});
  CHECK(sizes_of(found) == std::vector<std::int64_t>{8});
  CHECK(found.ended == BatchSizeFindEnd::interrupted);
  CHECK(found.why() == "it was interrupted");
}

TEST_CASE("the smallest of equally fast sizes is suggested") {
  BatchSizeFindResult found;
  const auto trial = [](std::int64_t size, double rate) {
    return BatchSizeTrial{.batch_size = size, .samples_per_second = rate};
  };
  found.trials = {trial(8, 500), trial(16, 949), trial(32, 951), trial(64, 1000), trial(128, 990)};
  REQUIRE(found.suggested() != nullptr);
  CHECK(found.suggested()->batch_size == 32);
}

TEST_CASE("contradicting timings are detected") {
  BatchSizeFindResult found;
  const auto trial = [](std::int64_t size, double rate, double spread = 0) {
    return BatchSizeTrial{.batch_size = size, .samples_per_second = rate, .spread = spread};
  };
  CHECK(found.noise() == 0);
  found.trials = {trial(8, 500), trial(16, 900), trial(32, 1000), trial(64, 950), trial(128, 900)};
  CHECK(found.noise() == 0);  // up and down again is what sizes do
  found.trials = {trial(8, 1437), trial(16, 1770), trial(32, 1124), trial(64, 1927)};
  CHECK(found.noise() == doctest::Approx(1770.0 / 1124 - 1));
  found.trials = {trial(8, 500, 0.125), trial(16, 900, 0.5)};
  CHECK(found.noise() == 0.5);
}

TEST_CASE("a size is timed three times if there are steps for it") {
  for (const std::int64_t steps : {1, 2, 3, 7}) {
    Training t({8, 8, 8, 8}, {});
    t.learn.add<Slower>();
    const BatchSizeFindResult found =
        t.learn.batch_size_find(four_batches, {.smallest = 4, .largest = 4, .steps = steps});
    REQUIRE(found.trials.size() == 1);
    CHECK((found.trials[0].spread > 0) == (steps > 1));
  }
}

TEST_CASE("a batch size finder with impossible options is refused") {
  Training t({8}, {});
  CHECK_THROWS_WITH_AS((void)t.learn.batch_size_find(four_batches, {.smallest = 0}),
                       doctest::Contains("sizes from 0 to 4096"),
                       UsageError);
  CHECK_THROWS_WITH_AS((void)t.learn.batch_size_find(four_batches, {.smallest = 9, .largest = 8}),
                       "batch_size_find: sizes from 9 to 8: the first must be above 0, the last "
                       "not below it",
                       UsageError);
  CHECK_THROWS_WITH_AS((void)t.learn.batch_size_find(four_batches, {.steps = 0}),
                       doctest::Contains("one is needed"),
                       UsageError);
  CHECK_THROWS_AS((void)t.learn.batch_size_find([](std::int64_t) -> std::unique_ptr<BatchSource> {
    throw std::runtime_error("no data");
  }),
                  std::runtime_error);
}
