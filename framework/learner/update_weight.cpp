#include "framework/learner/update_weight.h"

#include "framework/kernels/cast/fill.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/map/map.h"
#include "framework/runtime/transfer.h"

#include <array>

namespace learn {

void UpdateWeight::prepare(Context& ctx) {
  if (sum_of_weights_.defined()) return;
  for (Tensor* const sum : {&first_weight_, &sum_of_weights_})
    *sum = Tensor(ctx.persistent(), {1}, DType::f32);
}

Tensor UpdateWeight::add(Context& ctx, bool first, const BatchRun& batch, const Tensor& whole) {
  if (first) {
    batches_ = 0;
    samples_ = 0;
    first_ = batch.samples();
  }
  ++batches_;
  samples_ += batch.samples();
  weighted_ = sum_of_weights_.defined();
  if (weighted_) return add_weight(ctx, batch, whole);
  if (batch.counted() == first_) return {};
  return kernels::filled(ctx, static_cast<double>(batch.counted()) / static_cast<double>(first_));
}

/// Uses 1 if the first weight is 0, because the gradients of that batch are 0.
Tensor UpdateWeight::add_weight(Context& ctx, const BatchRun& batch, const Tensor& whole) {
  Tensor own = batch.weight;
  if (!own.defined() || batch.spare)
    own = kernels::filled(ctx, static_cast<double>(batch.counted()));
  Tensor all = whole;
  if (!all.defined())
    all = batch.weight.defined() ? own : kernels::filled(ctx, static_cast<double>(batch.samples()));
  if (batches_ == 1) {
    static const kernels::MapProgram kFirst =
        kernels::compile(select(expr::arg(0) > 0, expr::arg(0), 1));
    kernels::map(ctx, kFirst, std::array{all}, first_weight_);
    copy(ctx, all, sum_of_weights_);
  } else {
    kernels::add(ctx, sum_of_weights_, all, sum_of_weights_);
  }
  static const kernels::MapProgram kRatio = kernels::compile(expr::arg(0) / expr::arg(1));
  Tensor ratio = ctx.empty({1}, DType::f32);
  kernels::map(ctx, kRatio, std::array{own, first_weight_}, ratio);
  return ratio;
}

void UpdateWeight::divide(nn::ParamStore& params) const {
  if (batches_ <= 1) return;
  static const kernels::MapProgram kMean =
      kernels::compile(select(expr::arg(2) > 0, expr::arg(0) * expr::arg(1), 0) /
                       select(expr::arg(2) > 0, expr::arg(2), 1));
  Context& ctx = params.context();
  const double factor = static_cast<double>(first_) / static_cast<double>(samples_);
  for (int group = 0; group < params.groups(); ++group)
    for (const nn::Segment& run : params.segments(group)) {
      Tensor grads = params.flat_grad().range(run.begin, run.count);
      if (weighted_)
        kernels::map(ctx, kMean, std::array{grads, first_weight_, sum_of_weights_}, grads);
      else
        kernels::scale(ctx, grads, factor, grads);
    }
}

}  // namespace learn
