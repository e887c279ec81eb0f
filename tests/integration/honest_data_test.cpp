#include "framework/core/random.h"
#include "tests/integration/training.h"

#include <doctest/doctest.h>

#include <utility>

using namespace learn;

// A good accuracy on synthetic10 is meaningful: a linear model must fail on it, and shuffled labels
// must not be learnable. Otherwise the set would be trivial or leak.
TEST_SUITE("slow") {
  TEST_CASE("a linear model stays below a quarter on synthetic10 and the small net does not") {
    const data::DataPair images =
        data::load("synthetic10", {.train_limit = 5000, .valid_limit = 1000});
    const double linear = trained_accuracy(images, "linear", 4);
    const double small = trained_accuracy(images, "small", 4);
    MESSAGE("linear " << linear << ", small " << small);
    CHECK(linear <= 0.25);
    CHECK(small >= 0.7);
  }

  TEST_CASE("shuffled labels leave the test accuracy at chance") {
    data::DataPair images = data::load("synthetic10", {.train_limit = 5000, .valid_limit = 1000});
    auto& labels = images.train.labels;
    for (std::size_t i = labels.size() - 1; i > 0; --i) {
      const Random4 r = random4(7, RandomPurpose::test, 0, i);
      std::swap(labels[i], labels[uniform_below(r.v[0], static_cast<std::uint32_t>(i + 1))]);
    }
    const double accuracy = trained_accuracy(images, "small", 4);
    MESSAGE("shuffled " << accuracy);
    CHECK(accuracy > 0.06);  // four standard deviations of a guess among ten on 1,000 images
    CHECK(accuracy < 0.14);
  }
}
