#include "callbacks/mix/mix.h"

#include "callbacks/gradient_accumulation.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/registry.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"
#include "tests/callbacks/image_training.h"
#include "tests/callbacks/resumed.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

using namespace learn;
using callbacks::Mix;
using callbacks::MixDraw;
using callbacks::MixOptions;
using callbacks::on;
using test::kChannels;
using test::kClasses;
using test::kPixels;
using test::kSeed;
using test::kSide;
using test::Numbers;
using test::numbers;
using Training = test::ImageTraining;

namespace {

constexpr MixOptions kMixUp{.mixup = 0.4, .cutmix = 0};
constexpr MixOptions kCutMix{.mixup = 0, .cutmix = 1};

/// The contents of a batch before and after Mix.
struct Seen {
  std::int64_t clock = 0;
  Numbers x, y, mixed, loss_y;
};

std::vector<Seen> watch(Training& t, std::int64_t epochs) {
  std::vector<Seen> all;
  on(
      t.learn,
      Event::batch_begin,
      [&](Learner& l) {
        all.push_back(
            {l.progress().batch_clock, numbers(l.batch().x), numbers(l.batch().y), {}, {}});
      },
      "before",
      -100);
  on(t.learn, Event::loss_begin, [&](Learner& l) {
    all.back().mixed = numbers(l.batch().x);
    if (l.batch().loss_y.defined()) all.back().loss_y = numbers(l.batch().loss_y);
    CHECK(numbers(l.batch().y) == all.back().y);
    if (l.progress().training) return;
    if (l.batch().x.dtype() == DType::f32) CHECK(all.back().mixed == all.back().x);
    CHECK(all.back().loss_y.empty());
    all.pop_back();
  });
  t.learn.fit(epochs, 0.01);
  return all;
}

/// Target of class c of sample n.
double share(const Seen& seen, std::size_t n, std::size_t c) {
  return seen.y[n] == static_cast<double>(c) ? 1 : 0;
}

/// Compares with the definition. `rounding`: of a value of order 1.
void check_mixed(const Seen& seen, const MixDraw& draw, double rounding) {
  const std::size_t samples = seen.y.size();
  for (std::size_t n = 0; n < samples; ++n) {
    const std::size_t next = (n + 1) % samples;
    for (std::size_t i = 0; i < kPixels; ++i) {
      const auto row = static_cast<std::int64_t>(i / (kSide * kChannels));
      const auto column = static_cast<std::int64_t>(i / kChannels % kSide);
      const bool in_box = row >= draw.box.top && row < draw.box.bottom && column >= draw.box.left &&
                          column < draw.box.right;
      const double own = draw.boxed ? (in_box ? 0 : 1) : draw.own;
      const double expected =
          own * seen.x[n * kPixels + i] + (1 - own) * seen.x[next * kPixels + i];
      CHECK(std::abs(seen.mixed[n * kPixels + i] - expected) <= rounding);
    }
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double expected = draw.own * share(seen, n, c) + (1 - draw.own) * share(seen, next, c);
      CHECK(std::abs(seen.loss_y[n * kClasses + c] - expected) < 1e-6);
      sum += seen.loss_y[n * kClasses + c];
    }
    CHECK(std::abs(sum - 1) < 1e-6);
  }
}

template <class T>
Tensor host(const Shape& shape, const std::vector<T>& values) {
  return host_tensor<T>(shape, values);
}

Numbers masters(const Training& t) { return numbers(t.learn.params().flat_master()); }

double log_sum(const Numbers& logits, std::size_t n) {
  double sum = 0;
  for (std::size_t c = 0; c < kClasses; ++c) sum += std::exp(logits[n * kClasses + c]);
  return std::log(sum);
}

}  // namespace

TEST_CASE("samples and targets are mixed with the next ones and metrics keep the targets") {
  for (const MixOptions& options : {kMixUp, kCutMix, MixOptions{}}) {
    Training t;
    t.learn.add<Mix>(options);
    const std::vector<Seen> all = watch(t, 3);
    REQUIRE(all.size() == 9);
    for (const Seen& seen : all) {
      CAPTURE(seen.clock);
      const MixDraw draw =
          callbacks::draw_mix(options, kSeed, static_cast<std::uint64_t>(seen.clock), kSide, kSide);
      check_mixed(seen, draw, draw.boxed ? 0 : 2e-7);  // f32
    }
    CHECK(all[0].mixed != all[3].mixed);
  }
}

TEST_CASE("in a half model, inputs are mixed in f32 and rounded once") {
  Training t;
  t.learn.add<Mix>(kMixUp);
  callbacks::to_fp16(t.learn, {.loss_scale = 8.0F});
  Training f32;
  f32.learn.add<Mix>(kMixUp);
  const std::vector<Seen> halves = watch(t, 1);
  const std::vector<Seen> all = watch(f32, 1);
  REQUIRE(halves.size() == 3);
  for (std::size_t b = 0; b < halves.size(); ++b) {
    CHECK(halves[b].loss_y == all[b].loss_y);
    for (std::size_t i = 0; i < halves[b].mixed.size(); ++i)
      CHECK(halves[b].mixed[i] ==
            static_cast<double>(to_float(to_half(static_cast<float>(all[b].mixed[i])))));
  }
}

TEST_CASE("the loss of a mixed batch is the mix of the two losses, with smoothing too") {
  constexpr float kSmoothing = 0.1F;
  Training t(nn::cross_entropy(kSmoothing));
  t.learn.add<Mix>(kMixUp);
  int compared = 0;
  on(t.learn, Event::backward_begin, [&](Learner& l) {
    const Numbers logits = numbers(l.batch().pred.value());
    const Numbers classes = numbers(l.batch().y);
    const double own =
        callbacks::draw_mix(
            kMixUp, kSeed, static_cast<std::uint64_t>(l.progress().batch_clock), kSide, kSide)
            .own;
    const std::size_t samples = classes.size();
    const auto loss_of = [&](std::size_t n, double target) {
      double sum = 0;
      for (std::size_t c = 0; c < kClasses; ++c) {
        const double weight = (static_cast<double>(c) == target ? 1 - double{kSmoothing} : 0) +
                              double{kSmoothing} / kClasses;
        sum += weight * (log_sum(logits, n) - logits[n * kClasses + c]);
      }
      return sum / static_cast<double>(samples);
    };
    double expected = 0;
    for (std::size_t n = 0; n < samples; ++n)
      expected += own * loss_of(n, classes[n]) + (1 - own) * loss_of(n, classes[(n + 1) % samples]);
    CHECK(get(l.batch().loss.value(), 0) == doctest::Approx(expected).epsilon(1e-5));
    ++compared;
  });
  t.learn.fit(1, 0.01);
  CHECK(compared == 3);
}

TEST_CASE("the metrics of the training pass compare with the batch's targets") {
  Training t(nn::cross_entropy(), {4});
  t.learn.add<Mix>(kCutMix);
  double hits = 0;
  on(t.learn, Event::backward_begin, [&](Learner& l) {
    const Numbers logits = numbers(l.batch().pred.value());
    for (std::size_t n = 0; n < 4; ++n) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(n * kClasses);
      const auto guess = std::max_element(row, row + kClasses) - row;
      hits += static_cast<double>(guess) == get(l.batch().y, static_cast<std::int64_t>(n)) ? 1 : 0;
    }
  });
  t.learn.fit(1, 0.01);
  REQUIRE(t.learn.results().train_metrics.size() == 1);
  CHECK(t.learn.results().train_metrics[0].second == doctest::Approx(hits / 4));
}

TEST_CASE("validation and batches of one sample are not mixed") {
  Training plain, mixing;
  mixing.learn.add<Mix>();
  CHECK(plain.learn.validate().valid_loss == mixing.learn.validate().valid_loss);
  CHECK(numbers(plain.learn.get_preds(plain.valid).preds) ==
        numbers(mixing.learn.get_preds(mixing.valid).preds));
  Training ones(nn::cross_entropy(), {1, 1});
  ones.learn.add<Mix>();
  for (const Seen& seen : watch(ones, 2)) {
    CHECK(seen.mixed == seen.x);
    for (std::size_t c = 0; c < kClasses; ++c) CHECK(seen.loss_y[c] == share(seen, 0, c));
  }
}

TEST_CASE("the last epochs of a fit are not mixed, and their targets are soft too") {
  Training t;
  MixOptions options = kMixUp;
  options.plain_epochs = 2;
  t.learn.add<Mix>(options);
  const std::vector<Seen> all = watch(t, 3);
  REQUIRE(all.size() == 9);
  for (std::size_t b = 0; b < all.size(); ++b) {
    CHECK((all[b].mixed == all[b].x) == (b >= 3));
    CHECK(all[b].loss_y.size() == all[b].y.size() * kClasses);
  }
}

TEST_CASE("mixing nothing trains as without it") {
  Training plain, mixing;
  mixing.learn.add<Mix>(MixOptions{.mixup = 1, .cutmix = 0, .p = 0});
  plain.learn.fit(2, 0.05);
  mixing.learn.fit(2, 0.05);
  const Numbers a = masters(plain), b = masters(mixing);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-6);  // f32
}

TEST_CASE("class weights count mixed targets as they count classes") {
  Training t;
  const nn::Loss loss = nn::weighted_cross_entropy(
      to_device(t.ctx, t.ctx.persistent(), host<float>({kClasses}, {1, 2, 8, 0.5F})));
  Tape tape(t.ctx, {.mode = ForwardMode::eval, .grad = false});
  const Tensor logits = host<float>({2, kClasses}, {1, 2, 0, -1, 0.5F, 0, 1, 3});
  const Tensor classes = host<std::int64_t>({2}, {2, 0});
  const Tensor soft = host<float>({2, kClasses}, {0, 0, 1, 0, 1, 0, 0, 0});
  const Tensor mixed = host<float>({2, kClasses}, {0.25F, 0, 0.75F, 0, 0.75F, 0, 0.25F, 0});
  const auto value = [&](const Tensor& target) {
    return get(loss.fn(tape.input(logits), target).value(), 0);
  };
  CHECK(value(classes) == doctest::Approx(value(soft)).epsilon(1e-6));
  for (const Tensor& target : {classes, soft, mixed})
    CHECK(get(loss.weight(tape, target).value(), 0) == 9);
}

TEST_CASE("the batches of an accumulated update have separate draws") {
  Training t;
  t.learn.add<Mix>(kMixUp);
  t.learn.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{.batches = 3});
  const std::vector<Seen> all = watch(t, 1);
  REQUIRE(all.size() == 3);
  CHECK(t.learn.progress().step_clock == 1);
  for (const Seen& seen : all)
    check_mixed(
        seen,
        callbacks::draw_mix(kMixUp, kSeed, static_cast<std::uint64_t>(seen.clock), kSide, kSide),
        2e-7);
}

TEST_CASE("a resumed run mixes as an uninterrupted one, from the middle of an epoch") {
  struct Run {
    Run() { t.learn.add<Mix>(); }
    Training t;
  };
  Run straight;
  test::MemoryState state;
  test::save_after(straight.t.learn, 5, state);
  straight.t.learn.fit(3, 0.05);
  Run resumed;
  test::resume_from(resumed.t.learn, state);
  resumed.t.learn.fit(3, 0.05);
  CHECK(masters(resumed.t) == masters(straight.t));
}

TEST_CASE("several labels are mixed as they are") {
  Training t(nn::bce_with_logits(), {4}, true);
  t.learn.add<Mix>(kMixUp);
  int compared = 0;
  on(t.learn, Event::loss_begin, [&](Learner& l) {
    if (!l.progress().training) return;
    const double own = callbacks::draw_mix(kMixUp, kSeed, 0, kSide, kSide).own;
    const Numbers y = numbers(l.batch().y);
    const Numbers mixed = numbers(l.batch().loss_y);
    for (std::size_t i = 0; i < y.size(); ++i)
      CHECK(mixed[i] == doctest::Approx(own * y[i] + (1 - own) * y[(i + kClasses) % y.size()]));
    ++compared;
  });
  t.learn.fit(1, 0.01);
  CHECK(compared == 1);
}

TEST_CASE("samples that cannot be mixed are refused") {
  for (const MixOptions& wrong : {MixOptions{.mixup = -1},
                                  MixOptions{.cutmix = -0.5},
                                  MixOptions{.mixup = 0, .cutmix = 0},
                                  MixOptions{.p = 1.5},
                                  MixOptions{.plain_epochs = -1}})
    CHECK_THROWS_AS(Mix{wrong}, UsageError);
  CHECK_THROWS_WITH_AS((void)callbacks::make_from_text("mix:mixup=0,cutmix=0"),
                       doctest::Contains("nothing would be mixed"),
                       UsageError);
  const auto refused = [](const MixOptions& options, auto change, const char* why) {
    Training t;
    t.learn.add<Mix>(options);
    on(t.learn, Event::batch_begin, change, "change", -100);
    CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.01), doctest::Contains(why), Error);
  };
  refused(
      kCutMix,
      [](Learner& l) {
        l.set_x(l.batch().x.view({l.batch().size(), kPixels}));
      },
      "CutMix is for images");
  refused(
      kMixUp,
      [](Learner& l) { l.set_x(Tensor(l.context().step(), l.batch().x.shape(), DType::u8)); },
      "inputs must be floating");
  refused(
      kMixUp,
      [](Learner& l) { l.set_y(Tensor(l.context().step(), {l.batch().size()}, DType::i32)); },
      "targets must be classes (N) i64");
  refused(
      kMixUp,
      [](Learner& l) {
        Tensor y = host_tensor({l.batch().size()}, DType::i64);
        for (std::int64_t& label : y.span<std::int64_t>()) label = kClasses;
        l.set_y(y);
      },
      "has class 4, the logits have 4 classes");
}
