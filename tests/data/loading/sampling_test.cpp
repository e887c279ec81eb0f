#include "data/loading/sampling.h"

#include "data/loading/loader.h"
#include "framework/core/error.h"
#include "tests/data/images.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

using namespace learn;
using namespace learn::data;

namespace {

/// 90 images of class 0, 9 of class 1, 1 of class 2.
Dataset unbalanced() {
  Dataset set = test::small_set(100, 8, 8, 3);
  for (std::size_t i = 0; i < 100; ++i) set.labels[i] = i < 90 ? 0 : i < 99 ? 1 : 2;
  return set;
}

using Copy = std::pair<std::vector<std::int64_t>, std::vector<float>>;

std::vector<Copy> rest(Loader& loader) {
  std::vector<Copy> all;
  for (Batch batch; loader.next(batch);) {
    const auto x = batch.x.span<float>();
    all.push_back({batch.index, {x.begin(), x.end()}});
  }
  return all;
}

}  // namespace

TEST_CASE("class weights give each class the same share in a loss") {
  const std::vector<float> weights = class_weights(unbalanced());
  CHECK(weights[0] == doctest::Approx(100.0 / (3 * 90)));
  CHECK(weights[1] == doctest::Approx(100.0 / (3 * 9)));
  CHECK(weights[2] == doctest::Approx(100.0 / 3));
  Dataset set = unbalanced();
  set.labels[99] = 0;
  CHECK_THROWS_WITH_AS(
      (void)class_weights(set),
      "none of the 100 samples of 'small' have the class 'class 2', so its weight is undefined",
      DataError);
  set.labels.clear();
  set.target_kind = TargetKind::values;
  set.targets.resize(300);
  CHECK_THROWS_AS((void)class_weights(set), UsageError);
  CHECK_THROWS_WITH_AS((void)PassOrder(set, BalancedSampling{}, true, 1),
                       "balanced sampling needs classes, which 'small' does not have",
                       UsageError);
  // For several labels: absent over present.
  set.target_kind = TargetKind::labels;
  for (std::size_t i = 0; i < 25; ++i) set.targets[3 * i] = set.targets[3 * i + 1] = 1;
  for (std::size_t i = 0; i < 100; ++i) set.targets[3 * i + 2] = i < 80 ? 1 : 0;
  CHECK(class_weights(set) == std::vector<float>{3, 3, 0.25F});
  for (std::size_t i = 0; i < 100; ++i) set.targets[3 * i + 2] = 1;
  CHECK_THROWS_WITH_AS(
      (void)class_weights(set),
      "all of the 100 samples of 'small' have the label 'class 2', so its weight is undefined",
      DataError);
}

TEST_CASE("samples are drawn in proportion to their weights, differently each time") {
  const Dataset set = test::small_set(4, 2, 2);
  const PassOrder order(set, WeightedSampling{{1, 0, 3, 0}, 8000}, false, 1);
  CHECK(order.size() == 8000);
  std::map<std::int64_t, int> count;
  std::vector<std::int64_t> draws = order.draws(0);
  for (const std::int64_t draw : draws) ++count[order.sample_of(draw)];
  CHECK(count.size() == 2);
  CHECK(std::abs(count[0] - 2000) < 5 * 39);  // deviation 38.7
  CHECK(order.draws(1) != draws);
  CHECK(order.draws(0) == draws);
  CHECK(PassOrder(set, WeightedSampling{{1, 0, 3, 0}, 8000}, false, 2).draws(0) != draws);
  // No draw comes twice: the n-th time is another one.
  std::ranges::sort(draws);
  CHECK(std::ranges::adjacent_find(draws) == draws.end());
  CHECK(PassOrder(set, WeightedSampling{{0, 0, 0, 2}}, false, 1).draws(0) ==
        std::vector<std::int64_t>{3, 7, 11, 15});
}

TEST_CASE("balanced sampling has all classes equally often") {
  const Dataset set = unbalanced();
  const PassOrder order(set, BalancedSampling{9000}, true, 1);
  std::vector<int> count(3);
  for (const std::int64_t draw : order.draws(0))
    ++count[static_cast<std::size_t>(set.labels[static_cast<std::size_t>(order.sample_of(draw))])];
  for (const int of_class : count) CHECK(std::abs(of_class - 3000) < 5 * 45);  // deviation 44.7
}

TEST_CASE("a pass of draws is the same for any number of workers, and resumes in the middle") {
  Context ctx({.threads = 1});
  const Dataset set = unbalanced();
  const auto options = [](int workers) {
    return LoaderOptions{.batch_size = 40,
                         .shuffle = true,
                         .sampling = BalancedSampling{},
                         .workers = workers,
                         .transforms = {Pad{2}, RandomCrop{}, FlipLr{}}};
  };
  Loader straight(ctx, set, options(0));
  CHECK(straight.samples() == 100);
  straight.begin(2);
  const std::vector<Copy> whole = rest(straight);
  REQUIRE(whole.size() == 3);
  // Image 99 comes again and again, in other ways.
  std::vector<std::vector<float>> of_last;
  for (const auto& [index, x] : whole)
    for (std::size_t i = 0; i < index.size(); ++i)
      if (index[i] == 99)
        of_last.emplace_back(x.begin() + static_cast<std::ptrdiff_t>(i * 192),
                             x.begin() + static_cast<std::ptrdiff_t>((i + 1) * 192));
  REQUIRE(of_last.size() > 15);
  std::ranges::sort(of_last);
  CHECK(std::ranges::unique(of_last).begin() - of_last.begin() > 10);
  for (const int workers : {1, 3}) {
    Loader loader(ctx, set, options(workers));
    loader.begin(2);
    CHECK(rest(loader) == whole);
    loader.begin(2);
    Batch batch;
    REQUIRE(loader.next(batch));
    Loader resumed(ctx, set, options(workers));
    test::load(ctx, test::save(ctx, loader), resumed);
    resumed.begin(2);
    CHECK(rest(resumed) == std::vector<Copy>(whole.begin() + 1, whole.end()));
  }
}

TEST_CASE("invalid weights are refused") {
  const Dataset set = test::small_set(3, 2, 2);
  const auto refused = [&](Sampling sampling, const char* text) {
    CHECK_THROWS_WITH_AS(PassOrder(set, sampling, false, 1), doctest::Contains(text), UsageError);
  };
  refused(WeightedSampling{{1, 2}}, "2 weights for the 3 samples of 'small'");
  refused(WeightedSampling{{1, -2, 3}}, "weight -2 of sample 1");
  refused(WeightedSampling{{1, NAN, 3}}, "weight nan of sample 1");
  refused(WeightedSampling{{1, INFINITY, 3}}, "weight inf of sample 1");
  refused(WeightedSampling{{0, 0, 0}}, "the sum of the weights must be positive and finite, not 0");
  refused(WeightedSampling{{1e308, 1e308, 1e308}},
          "the sum of the weights must be positive and finite, not inf");
  refused(BalancedSampling{-1}, "-1 samples per pass are below 0");
}
