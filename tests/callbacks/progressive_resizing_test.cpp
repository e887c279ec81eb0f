#include "callbacks/progressive_resizing.h"

#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "framework/learner/learner.h"
#include "tests/callbacks/image_training.h"
#include "tests/callbacks/resumed.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <vector>

using namespace learn;
using callbacks::on;
using callbacks::ProgressiveResizing;
using callbacks::ProgressiveResizingOptions;
using Training = test::ImageTraining;
using Sides = std::vector<std::int64_t>;

namespace {

/// Sides 3 to 6 of `kSide`.
constexpr ProgressiveResizingOptions kHalf{.scale = 0.5, .first = 0.2, .last = 0.2, .multiple = 1};

/// Notes the side of the images from which each loss is computed; of validation with a minus.
void watch(Training& t, Sides& sides) {
  on(t.learn, Event::loss_begin, [&](Learner& l) {
    const Shape& shape = l.batch().x.shape();
    CHECK(shape[1] == shape[2]);
    sides.push_back(l.progress().training ? shape[1] : -shape[1]);
  });
}

Sides sides_of(const ProgressiveResizingOptions& options, std::int64_t full, int batches) {
  const ProgressiveResizing callback(options);
  Sides sides;
  for (int batch = 0; batch < batches; ++batch)
    sides.push_back(callback.side_at(static_cast<double>(batch) / batches, full));
  return sides;
}

}  // namespace

// Thirds of 24, 28 and 32 pixels: the schedule of a record on CIFAR-10.
TEST_CASE("progressive resizing: the sides of a training") {
  CHECK(sides_of({.scale = 0.75, .first = 1.0 / 6, .last = 1.0 / 6}, 32, 9) ==
        Sides{24, 24, 24, 28, 28, 28, 32, 32, 32});
  CHECK(sides_of({.scale = 0.5, .first = 0.5, .last = 0.5}, 32, 4) == Sides{16, 16, 32, 32});
  CHECK(sides_of({.scale = 1, .first = 0, .last = 0}, 30, 3) == Sides{30, 30, 30});
  // The full side need not be a multiple; a side is never 0.
  CHECK(sides_of({.scale = 0.5, .first = 0, .last = 0.25, .multiple = 8}, 30, 4) ==
        Sides{16, 24, 24, 30});
  CHECK(sides_of({.scale = 0.01, .first = 0.5, .last = 0.5, .multiple = 4}, 32, 2) == Sides{4, 32});
  CHECK(sides_of({.scale = 0.01, .first = 0.5, .last = 0.5, .multiple = 8}, 5, 2) == Sides{5, 5});
}

TEST_CASE("progressive resizing: training images grow, validation has full ones") {
  Training t;
  t.learn.add<ProgressiveResizing>(kHalf);
  Sides sides;
  watch(t, sides);
  t.learn.fit(3, 0.01);
  CHECK(sides == Sides{3, 3, 3, -6, 4, 4, 5, -6, 5, 6, 6, -6});
  // The next fit has its progress from the start.
  sides.clear();
  t.learn.fit(1, 0.01);
  CHECK(sides == Sides{3, 4, 5, -6});
}

TEST_CASE("progressive resizing: the result is the resized image, rounded to halves after that") {
  Training t;
  t.learn.add<ProgressiveResizing>(kHalf);
  callbacks::to_fp16(t.learn, {.loss_scale = 8.0F});
  int compared = 0;
  Tensor full;
  on(
      t.learn, Event::batch_begin, [&](Learner& l) { full = l.batch().x; }, "before", -100);
  on(t.learn, Event::loss_begin, [&](Learner& l) {
    if (!l.progress().training || l.batch().x.shape()[1] == test::kSide) return;
    const std::int64_t side = l.batch().x.shape()[1];
    const nn::ImageResizer resizer(
        l.context(), {test::kSide, test::kSide}, {side, side}, DType::f32);
    const Tensor expected = resizer(l.context(), full);
    REQUIRE(l.batch().x.dtype() == DType::f16);
    for (std::int64_t i = 0; i < expected.elements(); ++i)
      CHECK(get(l.batch().x, i) ==
            static_cast<double>(to_float(to_half(static_cast<float>(get(expected, i))))));
    ++compared;
  });
  t.learn.fit(2, 0.01);
  CHECK(compared == 5);
}

TEST_CASE("progressive resizing: a resumed fit has the same sizes and bits") {
  struct Run {
    Run() { t.learn.add<ProgressiveResizing>(kHalf); }
    Training t;
    Sides sides;
  };
  Run straight;
  test::MemoryState state;
  test::save_after(straight.t.learn, 5, state);
  watch(straight.t, straight.sides);
  straight.t.learn.fit(3, 0.05);
  Run resumed;
  watch(resumed.t, resumed.sides);
  test::resume_from(resumed.t.learn, state);
  resumed.t.learn.fit(3, 0.05);
  CHECK(resumed.sides == Sides{5, -6, 5, 6, 6, -6});
  CHECK(test::numbers(resumed.t.learn.params().flat_master()) ==
        test::numbers(straight.t.learn.params().flat_master()));
}

TEST_CASE("progressive resizing: options and inputs that cannot be are refused") {
  const auto refused = [](const ProgressiveResizingOptions& options, const char* text) {
    CHECK_THROWS_WITH_AS(ProgressiveResizing{options}, doctest::Contains(text), UsageError);
  };
  refused({.scale = 0}, "scale is 0, multiple 4");
  refused({.scale = 1.5}, "scale is 1.5");
  refused({.multiple = 0}, "multiple 0");
  refused({.first = 0.6, .last = 0.6}, "first is 0.6, last 0.6; they are shares");
  refused({.first = -0.1}, "first is -0.1");
  refused({.last = -0.1}, "last -0.1");
  tiny::Training features;
  features.learn.add<ProgressiveResizing>();
  CHECK_THROWS_WITH_AS(features.learn.fit(1, 0.1),
                       doctest::Contains("must be floating images (N,H,W,C), they are (2,3) f32"),
                       UsageError);
}
