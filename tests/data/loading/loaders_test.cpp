#include "data/loading/loaders.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <type_traits>

using namespace learn;
using data::Loaders;

// So does a learner its sources.
static_assert(std::is_convertible_v<Loaders&, BatchSources>);
static_assert(!std::is_convertible_v<Loaders, BatchSources>);

namespace {

data::DataPair small_set() {
  return data::load("synthetic10", {.train_limit = 40, .valid_limit = 20});
}

/// The samples of a pass, and the values of its first batch.
struct Pass {
  std::vector<std::int64_t> order;
  std::vector<float> first;
};

Pass pass_of(BatchSource& source, std::int64_t epoch) {
  Pass out;
  source.begin(epoch);
  for (Batch batch; source.next(batch);) {
    out.order.insert(out.order.end(), batch.index.begin(), batch.index.end());
    const auto values = batch.x.span<float>();
    if (out.first.empty()) out.first.assign(values.begin(), values.end());
  }
  return out;
}

}  // namespace

TEST_CASE("a data set and its loaders from one call: training shuffles and augments") {
  Context ctx({.threads = 1});
  Loaders data(ctx, small_set(), {.loader = {.batch_size = 16}});
  CHECK(data.train().samples() == 40);
  CHECK(data.valid().samples() == 20);
  CHECK(data.train().sample_shape() == Shape{32, 32, 3});
  CHECK(data.train().classes() == 10);
  CHECK(pass_of(data.train(), 0).order != pass_of(data.train(), 1).order);
  const Pass valid = pass_of(data.valid(), 0);
  CHECK(std::is_sorted(valid.order.begin(), valid.order.end()));
  CHECK(valid.first == pass_of(data.valid(), 1).first);

  Loaders plain(ctx, small_set(), {.augment = "none", .loader = {.batch_size = 40}});
  Loaders basic(ctx, small_set(), {.loader = {.batch_size = 40}});
  CHECK(pass_of(plain.train(), 0).order == pass_of(basic.train(), 0).order);
  CHECK(pass_of(plain.train(), 0).first != pass_of(basic.train(), 0).first);
  CHECK_THROWS_WITH_AS(
      Loaders(ctx, small_set(), {.augment = "much"}), doctest::Contains("'much'"), UsageError);
}

TEST_CASE("loaders: validation has each sample once, whatever training draws or leaves out") {
  Context ctx({.threads = 1});
  const data::DataPair set = small_set();
  std::vector<double> weights(40, 0);
  weights[3] = 1;
  Loaders data(
      ctx,
      set,
      {.loader = {
           .batch_size = 16, .sampling = data::WeightedSampling{weights}, .drop_last = true}});
  CHECK(pass_of(data.train(), 0).order == std::vector<std::int64_t>(32, 3));
  std::vector<std::int64_t> all(20);
  std::iota(all.begin(), all.end(), 0);
  CHECK(pass_of(data.valid(), 0).order == all);
}

TEST_CASE("loaders: a list of transforms replaces the named augmentation") {
  Context ctx({.threads = 1});
  Loaders cropped(ctx, small_set(), {.loader = {.transforms = {data::CenterCrop{.size = 24}}}});
  CHECK(cropped.train().sample_shape() == Shape{24, 24, 3});
  CHECK(cropped.valid().sample_shape() == Shape{32, 32, 3});
}

TEST_CASE("loaders measure the training images unless a normalization is given") {
  Context ctx({.threads = 1});
  const data::Normalization measured = data::measure(small_set().train);
  Loaders data(ctx, small_set());
  CHECK(data.normalization().mean == measured.mean);
  CHECK(data.valid().options().normalization.std == measured.std);
  Loaders told(ctx, small_set(), {.normalization = data::kCifarStats});
  CHECK(told.train().options().normalization.mean == data::kCifarStats.mean);
}

TEST_CASE("images that are not square are trained and validated in one shape") {
  Context ctx({.threads = 1});
  data::DataPair set = small_set();
  for (data::Dataset* part : {&set.train, &set.valid}) {
    part->height = 16;  // the same pixels, read in rows of 64
    part->width = 64;
  }
  for (const char* const augment : {"none", "basic", "full"}) {
    CAPTURE(augment);
    Loaders data(ctx, set, {.augment = augment});
    CHECK(data.train().sample_shape() == Shape{16, 64, 3});
    CHECK(data.valid().sample_shape() == Shape{16, 64, 3});
    CHECK(pass_of(data.train(), 0).order.size() == 40);
  }
}
