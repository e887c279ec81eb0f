#include "callbacks/whitening/whitening.h"

#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/whitening/filters.h"
#include "data/loading/loader.h"
#include "data/sets/registry.h"
#include "framework/learner/learner.h"
#include "framework/optim/sgd.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "models/registry.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

using namespace learn;
using callbacks::Eigen;
using callbacks::on;
using callbacks::PatchMoments;
using callbacks::Whitening;

namespace {

using Numbers = std::vector<double>;
constexpr unsigned kSeed = 20261129;

double at(const Numbers& matrix, std::int64_t size, std::int64_t i, std::int64_t j) {
  return matrix[static_cast<std::size_t>(i * size + j)];
}

struct Training {
  explicit Training(const char* model = "airbench94:width=4", std::int64_t images = 96)
      : set(data::load("synthetic10", {.train_limit = images, .valid_limit = 8})),
        batches(
            ctx,
            set.train,
            {.batch_size = 16, .shuffle = true, .workers = 0, .normalization = data::kCifarStats}),
        learn(ctx,
              models::make_model(model),
              batches,
              {.optimizer = optim::sgd({.momentum = 0.9F}), .report = Report::off}) {}

  [[nodiscard]] Numbers param(const char* name) {
    const Tensor host = to_host(ctx, learn.params().master(learn.params().find(name)));
    Numbers out;
    for (std::int64_t i = 0; i < host.elements(); ++i) out.push_back(get(host, i));
    return out;
  }

  Context ctx{{.threads = 1}};
  data::DataPair set;
  data::Loader batches;
  Learner learn;
};

/// Second moments of the filters' responses to all patches of the first images of a pass.
Numbers responses(Training& t, const Numbers& filters, std::int64_t images) {
  PatchMoments patches(2, 2, 3);
  t.batches.begin(0);
  for (Batch batch; images > 0 && t.batches.next(batch);)
    images -= patches.add(to_host(t.ctx, batch.x), images);
  const Numbers m = patches.moments();
  Numbers out(24 * 24);
  for (std::int64_t k = 0; k < 24; ++k)
    for (std::int64_t l = 0; l < 24; ++l)
      for (std::int64_t i = 0; i < 12; ++i)
        for (std::int64_t j = 0; j < 12; ++j)
          out[static_cast<std::size_t>(k * 24 + l)] +=
              at(filters, 12, k, i) * at(m, 12, i, j) * at(filters, 12, l, j);
  return out;
}

}  // namespace

TEST_CASE("eigenvectors of symmetric matrices") {
  INFO("seed ", kSeed);
  std::mt19937 random(kSeed);
  std::normal_distribution<double> normal;
  for (const std::int64_t size : {1, 2, 3, 12, 27}) {
    Numbers matrix(static_cast<std::size_t>(size * size));
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = i; j < size; ++j)
        matrix[static_cast<std::size_t>(i * size + j)] =
            matrix[static_cast<std::size_t>(j * size + i)] = normal(random);
    const Eigen eigen = callbacks::symmetric_eigen(matrix, size);
    for (std::int64_t k = 0; k < size; ++k) {
      if (k > 0)
        CHECK(eigen.values[static_cast<std::size_t>(k - 1)] >=
              eigen.values[static_cast<std::size_t>(k)]);
      for (std::int64_t i = 0; i < size; ++i) {
        double image = 0;
        for (std::int64_t j = 0; j < size; ++j)
          image += at(matrix, size, i, j) * at(eigen.vectors, size, k, j);
        CHECK(std::abs(image - eigen.values[static_cast<std::size_t>(k)] *
                                   at(eigen.vectors, size, k, i)) < 1e-12);
      }
      for (std::int64_t l = 0; l < size; ++l) {
        double product = 0;
        for (std::int64_t i = 0; i < size; ++i)
          product += at(eigen.vectors, size, k, i) * at(eigen.vectors, size, l, i);
        CHECK(std::abs(product - (k == l ? 1 : 0)) < 1e-12);
      }
    }
  }
}

TEST_CASE("the moments of patches are means over all places, without padded channels") {
  Tensor images = host_tensor({3, 3, 2, 2}, DType::f32);
  for (std::int64_t i = 0; i < images.elements(); ++i)
    set(images, i, std::sin(static_cast<double>(i)));
  PatchMoments patches(2, 1, 1);
  CHECK(patches.add(images, 2) == 2);
  const Numbers m = patches.moments();
  double first = 0, both = 0;
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t y = 0; y < 2; ++y)
      for (std::int64_t x = 0; x < 2; ++x) {
        const double a = get(images, ((n * 3 + y) * 2 + x) * 2);
        const double b = get(images, ((n * 3 + y + 1) * 2 + x) * 2);
        first += a * a / 8;
        both += a * b / 8;
      }
  CHECK(m[0] == doctest::Approx(first));
  CHECK(m[1] == doctest::Approx(both));
  CHECK(m[2] == doctest::Approx(both));
  CHECK_THROWS_AS((void)PatchMoments(4, 1, 1).add(images, 2), UsageError);
}

TEST_CASE("filters give uncorrelated responses of variance 1, and then their negatives") {
  Training t;
  t.learn.add<Whitening>();
  t.learn.fit(1, 0);
  const Numbers filters = t.param("whiten.weight");
  const Numbers seen = responses(t, filters, 5000);
  for (std::int64_t k = 0; k < 12; ++k) {
    for (std::int64_t i = 0; i < 12; ++i)
      CHECK(at(filters, 12, k + 12, i) == -at(filters, 12, k, i));
    for (std::int64_t l = 0; l < k; ++l) CHECK(std::abs(at(seen, 24, k, l)) < 1e-4);
    // The smallest variances, of order eps, are not made 1.
    CHECK(at(seen, 24, k, k) <= 1 + 1e-5);
    if (k < 3) CHECK(at(seen, 24, k, k) > 0.98);
  }
  for (const double bias : t.param("whiten.bias")) CHECK(bias == 0);
}

TEST_CASE("filters stay and the bias is trained in the first epochs only") {
  Training t;
  t.learn.add<Whitening>(callbacks::WhiteningOptions{.samples = 32, .bias_epochs = 2});
  std::vector<Numbers> biases;
  Numbers filters;
  on(t.learn, Event::epoch_end, [&](Learner&) {
    biases.push_back(t.param("whiten.bias"));
    if (filters.empty()) filters = t.param("whiten.weight");
    CHECK(t.param("whiten.weight") == filters);
  });
  t.learn.fit(4, 0.05);
  REQUIRE(biases.size() == 4);
  CHECK(biases[0] != Numbers(24));
  CHECK(biases[1] != biases[0]);
  CHECK(biases[2] == biases[1]);
  CHECK(biases[3] == biases[1]);
  t.learn.unfreeze();
  t.learn.fit(1, 0.05);
  CHECK(t.param("whiten.bias") == biases[1]);
  CHECK(t.param("whiten.weight") == filters);
}

TEST_CASE("the measured images do not change the training and a resumed one keeps its filters") {
  const auto order = [](bool whitening) {
    Training t;
    if (whitening) t.learn.add<Whitening>(callbacks::WhiteningOptions{.samples = 40});
    std::vector<std::int64_t> seen;
    on(t.learn, Event::batch_begin, [&](Learner& l) {
      seen.insert(seen.end(), l.batch().index.begin(), l.batch().index.end());
    });
    t.learn.fit(2, 0.05);
    return seen;
  };
  CHECK(order(true) == order(false));

  Training straight;
  straight.learn.add<Whitening>();
  test::MemoryState state;
  on(straight.learn, Event::batch_end, [&](Learner& l) {
    if (l.progress().batch_clock == 8) state = test::save(straight.ctx, l);
  });
  straight.learn.fit(4, 0.05);
  Training resumed;
  resumed.learn.add<Whitening>();
  on(resumed.learn, Event::batch_end, [](Learner&) {});
  test::load(resumed.ctx, state, resumed.learn);
  resumed.learn.resume();
  resumed.learn.fit(4, 0.05);
  for (const char* const name : {"whiten.weight", "whiten.bias", "layer2.conv1.weight"})
    CHECK(resumed.param(name) == straight.param(name));
}

TEST_CASE("layers that cannot whiten are refused") {
  Training resnet("small:width=4", 32);
  CHECK_THROWS_WITH_AS(resnet.learn.add<Whitening>(),
                       doctest::Contains("'prep.conv.weight' has 4 filters; windows of 3x3 with 3 "
                                         "channels need 54"),
                       UsageError);
  Training mlp("mlp", 32);
  CHECK_THROWS_WITH_AS(
      mlp.learn.add<Whitening>(), doctest::Contains("has no convolution"), UsageError);
  Training t;
  CHECK_THROWS_WITH_AS(t.learn.add<Whitening>(callbacks::WhiteningOptions{.layer = "prep"}),
                       doctest::Contains("has no convolution 'prep'"),
                       UsageError);
  for (const callbacks::WhiteningOptions& wrong : {callbacks::WhiteningOptions{.samples = 0},
                                                   callbacks::WhiteningOptions{.eps = 0},
                                                   callbacks::WhiteningOptions{.bias_epochs = -1}})
    CHECK_THROWS_AS(Whitening{wrong}, UsageError);
}
