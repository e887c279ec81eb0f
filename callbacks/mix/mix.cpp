#include "callbacks/mix/mix.h"

#include "callbacks/registry.h"
#include "framework/kernels/map/map.h"
#include "framework/learner/learner.h"
#include "framework/nn/class_shares.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <array>
#include <numeric>

namespace learn::callbacks {
namespace {

Expr inside(const MixDraw::Box& box, const Expr& row, const Expr& column) {
  const auto between = [](std::int64_t first, const Expr& x, std::int64_t last) {
    return (static_cast<double>(first) <= x) * (x < static_cast<double>(last));
  };
  return between(box.top, row, box.bottom) * between(box.left, column, box.right);
}

/// Computes `f` of each row of x, the next one, and `others`.
Tensor with_next(Context& ctx,
                 const Expr& f,
                 const Tensor& x,
                 const Tensor& first_other = {},
                 const Tensor& second_other = {}) {
  const kernels::MapProgram program = kernels::compile(f);
  Tensor out = ctx.empty(x.shape(), x.dtype());
  const std::int64_t last = x.shape()[0] - 1;
  const auto run = [&](std::int64_t from, std::int64_t next, std::int64_t count) {
    const std::array inputs{x.rows(from, count), x.rows(next, count), first_other, second_other};
    kernels::map(ctx, program, inputs, out.rows(from, count));
  };
  run(0, 1, last);
  run(last, 0, 1);
  return out;
}

Tensor counted(Context& ctx, const Shape& shape) {
  Tensor host = host_tensor(shape, DType::i32);
  const auto values = host.span<std::int32_t>();
  std::iota(values.begin(), values.end(), 0);
  return to_device(ctx, ctx.persistent(), host);
}

/// Targets that can be mixed.
Tensor soft_targets(Learner& learn) {
  Context& ctx = learn.context();
  const Batch& batch = learn.batch();
  if (is_floating(batch.y.dtype())) return batch.y;
  check<UsageError>(batch.y.dtype() == DType::i64 && batch.y.shape().rank() == 1,
                    "mix: targets must be classes (N) i64, or floating; they are {} {}",
                    batch.y.shape(),
                    batch.y.dtype());
  return nn::class_shares(ctx, batch.y, learn.model_info().classes, wide_dtype(batch.x.dtype()));
}

Tensor copied(Context& ctx, const Tensor& x) {
  Tensor out = ctx.empty(x.shape(), x.dtype());
  copy(ctx, x, out);
  return out;
}

}  // namespace

Mix::Mix(const MixOptions& options) : options_(options) {
  check<UsageError>(options.mixup >= 0 && options.cutmix >= 0 && options.plain_epochs >= 0,
                    "mix: mixup {}, cutmix {} and plain_epochs {} must not be negative",
                    options.mixup,
                    options.cutmix,
                    options.plain_epochs);
  check<UsageError>(options.mixup + options.cutmix > 0,
                    "mix: mixup and cutmix are both 0, so nothing would be mixed: set one of them");
  check<UsageError>(options.p >= 0 && options.p <= 1, "mix: p is {}, not in [0, 1]", options.p);
}

MixDraw Mix::draw(const Learner& learn) const {
  const FitProgress& progress = learn.progress();
  const Tensor& x = learn.batch().x;
  check<UsageError>(x.shape().rank() == 4 || options_.cutmix == 0,
                    "mix: CutMix is for images (N,H,W,C), but the inputs are {}: use MixUp alone "
                    "(mixup=0.2, cutmix=0)",
                    x.shape());
  if (learn.batch().size() < 2 || progress.epoch >= progress.epochs - options_.plain_epochs)
    return {};
  const bool images = x.shape().rank() == 4;
  return draw_mix(options_,
                  learn.context().seed(),
                  static_cast<std::uint64_t>(progress.batch_clock),
                  images ? x.shape()[1] : 1,
                  images ? x.shape()[2] : 1);
}

void Mix::batch_begin(Learner& learn) {
  if (!learn.progress().training) return;
  Context& ctx = learn.context();
  const Tensor x = learn.batch().x;
  check<UsageError>(
      is_floating(x.dtype()), "mix: inputs must be floating to be mixed, they are {}", x.dtype());
  const Tensor y = soft_targets(learn);
  const MixDraw drawn = draw(learn);
  if (drawn.own == 1) {
    // In separate memory like a mixed batch, because captured steps are found by addresses.
    learn.set_loss_y(copied(ctx, y));
    return learn.set_x(copied(ctx, x));
  }
  const Expr blend = drawn.own * expr::arg(0) + (1 - drawn.own) * expr::arg(1);
  learn.set_loss_y(with_next(ctx, blend, y));
  if (!drawn.boxed) return learn.set_x(with_next(ctx, blend, x));
  if (!row_.defined() || row_.shape()[0] != x.shape()[1]) row_ = counted(ctx, {x.shape()[1], 1, 1});
  if (!column_.defined() || column_.shape()[0] != x.shape()[2])
    column_ = counted(ctx, {x.shape()[2], 1});
  learn.set_x(
      with_next(ctx,
                select(inside(drawn.box, expr::arg(2), expr::arg(3)), expr::arg(1), expr::arg(0)),
                x,
                row_,
                column_));
}

void register_mix(CallbackRegistry& registry) {
  registry.add(
      "mix",
      "mixes the training samples of a batch, and their targets: MixUp and CutMix",
      MixOptions{},
      [](OptionTable& t, MixOptions& o) {
        t.number(
            "mixup", o.mixup, kNotNegative, "A", "MixUp by a share from Beta(A, A); 0: no MixUp");
        t.number("cutmix",
                 o.cutmix,
                 kNotNegative,
                 "A",
                 "the same of CutMix; with both, a batch has either");
        t.number("p", o.p, {.low = 0, .high = 1}, "P", "share of the batches that are mixed");
        t.number(
            "plain_epochs", o.plain_epochs, kNotNegative, "N", "the last N epochs mix nothing");
      },
      [](const MixOptions& o, const RunSettings&) { return make_callback<Mix>(Role::trains, o); });
}

}  // namespace learn::callbacks
