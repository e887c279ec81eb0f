#include "framework/nn/test_views.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/model.h"
#include "framework/tensor/factory.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace learn;
using nn::ImageView;
using nn::MeanPrediction;
using nn::TestViews;
using nn::ViewMean;

namespace {

constexpr std::int64_t kHeight = 5;
constexpr std::int64_t kWidth = 7;
constexpr std::int64_t kChannels = 3;

Tensor images(Context& ctx, DType dtype) {
  return test::put_uniform(ctx, {2, kHeight, kWidth, kChannels}, dtype, -2, 2, 7);
}

std::int64_t reflected(std::int64_t i, std::int64_t size) {
  if (i < 0) return -i;
  return i < size ? i : 2 * (size - 1) - i;
}

/// Pixel (n, y, x, c) of a view, by its definition.
double pixel_of(const Tensor& host, const ImageView& view, const std::array<std::int64_t, 4>& at) {
  const auto [n, y, x, c] = at;
  const std::int64_t column = view.mirrored ? kWidth - 1 - x : x;
  const std::int64_t from_row = reflected(y + view.shift, kHeight);
  const std::int64_t from_column = reflected(column + view.shift, kWidth);
  return get(host, ((n * kHeight + from_row) * kWidth + from_column) * kChannels + c);
}

using Rows = std::vector<double>;

/// The mean outputs of rows with these weights, one row each.
Rows mean_of(TargetKind targets,
             ViewMean mean,
             const std::vector<Rows>& rows,
             const std::vector<double>& weights) {
  Context ctx(test::fast_context(1));
  Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false});
  MeanPrediction sum(targets, mean);
  for (std::size_t i = 0; i < rows.size(); ++i)
    sum.add(
        tape.input(test::put_values(ctx, {1, static_cast<std::int64_t>(rows[i].size())}, rows[i])),
        weights[i]);
  const Tensor host = to_host(ctx, sum.outputs().value());
  Rows out;
  for (std::int64_t i = 0; i < host.elements(); ++i) out.push_back(get(host, i));
  return out;
}

Rows probabilities(TargetKind targets, const Rows& outputs) {
  Rows out;
  double sum = 0;
  for (const double z : outputs) {
    out.push_back(targets == TargetKind::classes  ? std::exp(z)
                  : targets == TargetKind::labels ? 1 / (1 + std::exp(-z))
                                                  : z);
    sum += out.back();
  }
  if (targets == TargetKind::classes)
    for (double& p : out) p /= sum;
  return out;
}

/// Sums the pixels of each channel, weighted by their place, so that all views differ.
class Places final : public nn::Module {
 public:
  explicit Places(const nn::Scope& scope) : Module(scope) {}
  [[nodiscard]] std::string describe() const override { return "Places"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override {
    std::vector<double> weights;
    for (std::int64_t i = 0; i < kHeight * kWidth; ++i)
      weights.push_back(std::sin(static_cast<double>(i)));
    const Var places = x.tape().input(
        test::put_values(x.tape().context(), {kHeight, kWidth, 1}, weights, x.dtype()));
    return ops::sum(x * places, {1, 2});
  }
};

}  // namespace

TEST_CASE("a view is shifted with reflected edges and then mirrored") {
  Context ctx(test::fast_context(2));
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const ImageView& view : {ImageView{0, true},
                                  ImageView{1, false},
                                  ImageView{-1, false},
                                  ImageView{3, true},
                                  ImageView{-4, true},
                                  ImageView{0, false}}) {
      CAPTURE(dtype);
      CAPTURE(view.shift);
      CAPTURE(view.mirrored);
      const Tensor x = images(ctx, dtype);
      const Tensor host = to_host(ctx, x);
      const Tensor seen = to_host(ctx, nn::view_of(ctx, x, view));
      REQUIRE(seen.shape() == x.shape());
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < seen.elements(); ++i)
        wrong += get(seen, i) != pixel_of(host,
                                          view,
                                          {i / (kChannels * kWidth * kHeight),
                                           i / (kChannels * kWidth) % kHeight,
                                           i / kChannels % kWidth,
                                           i % kChannels});
      CHECK(wrong == 0);
    }
}

TEST_CASE("views and their weights") {
  const auto weights = [](const TestViews& views) {
    Rows out;
    for (const ImageView& view : views.views()) out.push_back(view.weight);
    return out;
  };
  CHECK(weights({}) == Rows{0.5, 0.5});
  CHECK(weights({.plain = 0.25}) == Rows{0.25, 0.75});
  CHECK(weights({.shift = 2}) == Rows{0.25, 0.25, 0.125, 0.125, 0.125, 0.125});
  CHECK(weights({.shift = 1, .plain = 0.625}) ==
        Rows{0.625, 0.125, 0.0625, 0.0625, 0.0625, 0.0625});
  CHECK(weights({.shift = 1, .plain = 1}) == Rows{1, 0, 0, 0, 0, 0});
  const std::vector<ImageView> views = TestViews{.shift = 2}.views();
  CHECK(views[0].shift == 0);
  CHECK(!views[0].mirrored);
  CHECK(views[1].mirrored);
  CHECK(views[2].shift == -2);
  CHECK(views[5].shift == 2);
  CHECK(views[5].mirrored);
}

TEST_CASE("a mean of probabilities is one of what outputs mean") {
  const std::vector<Rows> rows{{2, -1, 0.5}, {-3, 4, 0}, {0.25, 0, 1}};
  const std::vector<double> weights{0.5, 0.3, 0.2};
  for (const TargetKind kind : {TargetKind::classes, TargetKind::labels, TargetKind::values}) {
    const Rows said = probabilities(kind, mean_of(kind, ViewMean::probabilities, rows, weights));
    const Rows outputs = mean_of(kind, ViewMean::outputs, rows, weights);
    for (std::size_t c = 0; c < 3; ++c) {
      double p = 0, z = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        p += weights[i] * probabilities(kind, rows[i])[c];
        z += weights[i] * rows[i][c];
      }
      CHECK(said[c] == doctest::Approx(p).epsilon(1e-6));
      CHECK(outputs[c] == doctest::Approx(z).epsilon(1e-6));
    }
  }
}

TEST_CASE("the mean of probabilities of 0 or 1 keeps their logarithms") {
  const std::vector<double> halves{0.5, 0.5};
  const auto mean = [&](TargetKind kind, const Rows& a, const Rows& b) {
    return mean_of(kind, ViewMean::probabilities, {a, b}, halves);
  };
  const Rows far{1000, 0}, farther{3000, 0};
  const Rows classes = mean(TargetKind::classes, far, farther);
  CHECK(classes[0] == doctest::Approx(0));
  CHECK(classes[1] == doctest::Approx(-1000 - std::log(2)).epsilon(1e-6));
  CHECK(mean(TargetKind::labels, far, farther)[0] ==
        doctest::Approx(1000 + std::log(2)).epsilon(1e-6));
  const double inf = std::numeric_limits<double>::infinity();
  const Rows masked{0, -inf};
  CHECK(mean(TargetKind::classes, masked, masked)[1] == -inf);
  CHECK(mean(TargetKind::classes, masked, masked)[0] == doctest::Approx(0));
  CHECK(mean(TargetKind::labels, masked, masked)[1] == -inf);
  // A NaN in either stays one; with classes it spoils all of the row.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [a, b] :
       {std::pair{Rows{nan, 1}, Rows{1, 1}}, std::pair{Rows{1, 1}, Rows{nan, 1}}}) {
    for (const double p : mean(TargetKind::classes, a, b)) CHECK(std::isnan(p));
    for (const TargetKind kind : {TargetKind::labels, TargetKind::values}) {
      CHECK(std::isnan(mean(kind, a, b)[0]));
      CHECK(mean(kind, a, b)[1] == doctest::Approx(1));
    }
  }
}

TEST_CASE("a model predicts the weighted mean of the views") {
  Context ctx(test::fast_context(2));
  const Tensor x = images(ctx, DType::f32);
  nn::Model model =
      nn::make_model<Places>("places", {kHeight, kWidth, kChannels}, static_cast<int>(kChannels));
  for (const TestViews& views : {TestViews{.mean = ViewMean::outputs},
                                 TestViews{.shift = 2, .mean = ViewMean::outputs},
                                 TestViews{.shift = 1, .plain = 0.0, .mean = ViewMean::outputs}}) {
    Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false});
    const Var plain = (*model.module)(tape.input(x));
    const Tensor mean = to_host(
        ctx, nn::predict_views(*model.module, x, 0, plain, views, TargetKind::classes).value());
    Rows expected(static_cast<std::size_t>(mean.elements()));
    for (const ImageView& view : views.views()) {
      const Tensor one =
          to_host(ctx, (*model.module)(tape.input(nn::view_of(ctx, x, view))).value());
      for (std::int64_t i = 0; i < one.elements(); ++i)
        expected[static_cast<std::size_t>(i)] += view.weight * get(one, i);
    }
    for (std::int64_t i = 0; i < mean.elements(); ++i)
      CHECK(get(mean, i) == doctest::Approx(expected[static_cast<std::size_t>(i)]).epsilon(1e-5));
  }
}

TEST_CASE("samples without views are refused") {
  Context ctx(test::fast_context(1));
  const Tensor x = images(ctx, DType::f32);
  CHECK_THROWS_WITH_AS((void)nn::view_of(ctx, x, {.shift = 5}),
                       doctest::Contains("must be smaller than the sides"),
                       UsageError);
  CHECK_THROWS_WITH_AS((void)nn::view_of(ctx, x.view({2, kHeight * kWidth * kChannels}), {0, true}),
                       doctest::Contains("test views are of images (N,H,W,C)"),
                       UsageError);
  for (const char* const spec : {"shift:pixels=0", "mirror:plain=1.5", "mirror:pixels=1", "flip"})
    CHECK_THROWS_AS((void)nn::view_registry().make(spec), UsageError);
}
