#include "framework/nn/test_views.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/map/map.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace learn::nn {
namespace {

constexpr int kRows = 1;
constexpr int kColumns = 2;

/// The elements of dimension `dim` that a slice takes, and all of the others.
Tensor part_of(
    Context& ctx, const Tensor& x, int dim, const kernels::Slice& slice, std::int64_t count) {
  std::array<kernels::Slice, 4> slices{};
  slices.at(static_cast<std::size_t>(dim)) = slice;
  Shape shape = x.shape();
  shape.set(dim, count);
  Tensor part = ctx.empty(shape, x.dtype());
  kernels::slice(ctx, x, slices, part);
  return part;
}

Tensor shifted(Context& ctx, const Tensor& x, int dim, std::int64_t shift) {
  const std::int64_t size = x.shape()[dim];
  const std::int64_t outside = std::abs(shift);
  std::int64_t rows = 1;
  std::int64_t inner = 1;
  for (int d = 0; d < dim; ++d) rows *= x.shape()[d];
  for (int d = dim + 1; d < x.shape().rank(); ++d) inner *= x.shape()[d];
  Tensor out = ctx.empty(x.shape(), x.dtype());
  const auto put = [&](std::int64_t at, const kernels::Slice& slice, std::int64_t count) {
    kernels::copy_into_columns(ctx, part_of(ctx, x, dim, slice, count), out, rows, at * inner);
  };
  put(shift > 0 ? 0 : outside, {shift > 0 ? outside : 0, 1}, size - outside);
  if (shift > 0)
    put(size - outside, {size - 2, -1}, outside);
  else
    put(0, {outside, -1}, outside);
  return out;
}

/// Adds log(exp(log_p)) to the sum; exact also where a power is too large or too small.
void add_power(Var& sum, const Var& log_p) {
  const auto both = [](const Expr& a, const Expr& b) {
    return select(a == b, a + std::log(2.0), maximum(a, b) + log1p(exp(-abs(a - b))));
  };
  sum = sum.defined() ? ops::map(both, sum, log_p) : log_p;
}

}  // namespace

Tensor view_of(Context& ctx, const Tensor& images, const ImageView& view) {
  check<UsageError>(images.shape().rank() == 4,
                    "test views are of images (N,H,W,C), the samples are {}",
                    images.shape());
  check<UsageError>(std::abs(view.shift) < std::min(images.shape()[1], images.shape()[2]),
                    "a view shifted by {} pixels of images {}: the shift must be smaller than the "
                    "sides",
                    view.shift,
                    images.shape());
  Tensor out = images;
  if (view.shift != 0)
    for (const int dim : {kRows, kColumns}) out = shifted(ctx, out, dim, view.shift);
  const std::int64_t width = images.shape()[kColumns];
  return view.mirrored ? part_of(ctx, out, kColumns, {width - 1, -1}, width) : out;
}

std::vector<ImageView> TestViews::views() const {
  std::vector<ImageView> all;
  for (const std::int64_t pixels : {std::int64_t{0}, -shift, shift})
    for (const bool mirrored : {false, true})
      if (pixels != 0 || all.size() < 2)
        all.push_back({pixels, mirrored, pixels == 0 ? (shift == 0 ? 0.5 : 0.25) : 0.125});
  if (!plain) return all;
  const double of_others = (1 - *plain) / (1 - all.front().weight);
  for (ImageView& view : all) view.weight *= of_others;
  all.front().weight = *plain;
  return all;
}

MeanPrediction::MeanPrediction(TargetKind targets, ViewMean mean)
    : targets_(targets), of_outputs_(mean == ViewMean::outputs || targets == TargetKind::values) {}

void MeanPrediction::add(const Var& outputs, double weight) {
  const Var wide = ops::cast(outputs, wide_dtype(outputs.dtype()));
  if (!of_outputs_) return add_probabilities(wide, weight);
  const Var part = ops::scale(wide, weight);
  sum_ = sum_.defined() ? ops::add(sum_, part) : part;
}

void MeanPrediction::add_probabilities(const Var& logits, double weight) {
  const double log_weight = std::log(weight);
  if (targets_ == TargetKind::classes)
    return add_power(
        yes_,
        ops::map([=](const Expr& log_p) { return log_p + log_weight; }, ops::log_softmax(logits)));
  add_power(yes_, ops::map([=](const Expr& z) { return log_weight - softplus(-z); }, logits));
  add_power(no_, ops::map([=](const Expr& z) { return log_weight - softplus(z); }, logits));
}

Var MeanPrediction::outputs() const {
  if (of_outputs_) return sum_;
  if (targets_ == TargetKind::classes) return yes_;
  return ops::map([](const Expr& yes, const Expr& no) { return yes - no; }, yes_, no_);
}

Var predict_views(Module& model,
                  const Tensor& x,
                  std::int64_t padding,
                  const Var& plain,
                  const TestViews& views,
                  TargetKind targets) {
  Tape& tape = plain.tape();
  MeanPrediction mean(targets, views.mean);
  for (const ImageView& view : views.views()) {
    if (view.weight == 0) continue;
    const bool is_plain = view.shift == 0 && !view.mirrored;
    mean.add(is_plain ? plain : model(tape.padded_input(view_of(tape.context(), x, view), padding)),
             view.weight);
  }
  return mean.outputs();
}

ViewRegistry view_registry() {
  ViewRegistry registry("views");
  const auto declare = [](OptionTable& t, TestViews& o) {
    t.number("plain", o.plain, {.low = 0, .high = 1}, "W", "weight of the plain image")
        .when_absent = o.shift == 0 ? "0.5" : "0.25";
    t.choice("mean",
             o.mean,
             {{"probabilities", ViewMean::probabilities}, {"outputs", ViewMean::outputs}},
             "which outputs are averaged, for real targets always the values");
  };
  const auto make = [](const TestViews& o) { return o; };
  registry.add("mirror", "an image and its mirror image", TestViews{}, declare, make);
  registry.add(
      "shift",
      "these two, and both shifted to the upper left and to the lower right",
      TestViews{.shift = 1},
      [declare](OptionTable& t, TestViews& o) {
        t.number("pixels", o.shift, kCount, "N", "distance of the shift along either axis");
        declare(t, o);
      },
      make);
  return registry;
}

}  // namespace learn::nn
