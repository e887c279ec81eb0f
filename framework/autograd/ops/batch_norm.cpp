#include "framework/kernels/norm/batch_norm.h"

#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/ops/deferred_conv.h"
#include "framework/autograd/rank_gather.h"
#include "framework/core/function_ref.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/conv/conv_affine.h"
#include "framework/tensor/convert.h"

#include <utility>

namespace learn::ops {
namespace {

using kernels::BatchNormGradient;
using kernels::BatchNormPass;

/// Values of this rank, and of all ranks (R, n).
struct Gathered {
  Tensor own, all;
};

/// Gathers the `n` values that `compute` writes, or zeros if the rows of this rank are not counted.
Gathered gather(Tape& tape,
                RankGather& ranks,
                bool counted,
                std::int64_t n,
                DType dtype,
                FunctionRef<void(Tensor&)> compute) {
  Gathered out{tape.empty({n}, dtype), tape.empty({ranks.ranks(), n}, dtype)};
  if (counted)
    compute(out.own);
  else
    kernels::fill(tape.context(), out.own, 0);
  ranks.gather(tape.context(), out.own, out.all);
  return out;
}

/// The batch over several ranks to which a forward pass belonged.
struct RankBatch {
  RankGather* ranks = nullptr;  ///< null for a batch of this tape alone
  bool counted = true;          ///< whether it contains the rows of this tape
  Tensor rows{};                ///< how many it has
};

struct BatchNormNode final : Node {
  BatchNormPass pass;
  kernels::BatchNormOperands in;
  kernels::BatchNormStatistics statistics;
  Tensor running_mean, running_var;
  BatchNormOptions options;
  RankBatch batch;

  BatchNormNode(BatchNormPass pass_in,
                kernels::BatchNormOperands operands,
                kernels::BatchNormStatistics used,
                Tensor mean_of_all,
                Tensor var_of_all,
                const BatchNormOptions& opts,
                RankBatch whole)
      : pass(pass_in),
        in(std::move(operands)),
        statistics(std::move(used)),
        running_mean(std::move(mean_of_all)),
        running_var(std::move(var_of_all)),
        options(opts),
        batch(std::move(whole)) {}
  std::string_view name() const override { return "batch_norm"; }
  void backward(Tape& tape, const Tensor& dy) override {
    // One kernel writes all gradients, so all destinations are created first and filled together.
    const auto destination = [&](std::size_t i) {
      BatchNormGradient gradient;
      tape.accumulate(input(i), [&](Tensor& tensor, GradMode mode) { gradient = {tensor, mode}; });
      return gradient;
    };
    kernels::BatchNormGradients out{destination(0), destination(1), destination(2), {}};
    // If the residual is added after the activation, its gradient is dy.
    if (in.residual.defined() &&
        (options.residual_before_activation || !tape.hand_over(input(3), dy)))
      out.residual = destination(3);
    if (batch.ranks == nullptr)
      kernels::batch_norm_backward(tape.context(), pass, in, statistics, options, dy, out);
    else
      backward_over_ranks(tape, dy, out);
  }
  void backward_over_ranks(Tape& tape, const Tensor& dy, kernels::BatchNormGradients& out) {
    // Other ranks need the sums even if this tape does not need the gradient of x.
    auto [own, all] = gather(tape,
                             *batch.ranks,
                             batch.counted,
                             2 * in.x.shape()[-1],
                             statistics.mean.dtype(),
                             [&](Tensor& sums) {
                               kernels::batch_norm_gradient_sums(
                                   tape.context(), in, statistics, options, dy, sums);
                             });
    kernels::batch_norm_backward_joined(
        tape.context(), in, statistics, {own, all, batch.rows, batch.counted}, options, dy, out);
  }
  OpAttributes attributes() const override {
    return BatchNormAttributes{options, pass == BatchNormPass::eval, running_mean, running_var};
  }
};

/// Computes y and statistics from the rows of all ranks.
RankBatch train_over_ranks(Tape& tape,
                           const kernels::BatchNormOperands& in,
                           Tensor& running_mean,
                           Tensor& running_var,
                           const BatchNormOptions& options,
                           Tensor& y,
                           kernels::BatchNormStatistics& statistics) {
  RankBatch batch{.ranks = tape.rank_gather(),
                  .counted = !tape.options().spare && in.x.elements() > 0,
                  .rows = tape.empty({1}, statistics.mean.dtype())};
  const Tensor moments =
      gather(tape,
             *batch.ranks,
             batch.counted,
             2 * in.x.shape()[-1] + 1,
             statistics.mean.dtype(),
             [&](Tensor& own) { kernels::batch_norm_moments(tape.context(), in.x, own); })
          .all;
  // Every sample has as many rows as this rank's, which are of one sample at least.
  const bool two_rows = in.x.elements() >= 2 * in.x.shape()[-1];
  const std::int64_t samples = tape.options().samples;
  const bool suffices = samples >= 2 || (two_rows && (batch.counted || samples == 1));
  kernels::batch_norm_train_joined(tape.context(),
                                   in,
                                   moments,
                                   suffices,
                                   running_mean,
                                   running_var,
                                   options,
                                   y,
                                   statistics,
                                   batch.rows);
  return batch;
}

/// The output of a convolution that is still to be computed, normalized.
Tensor taken_over(Tape& tape,
                  const DeferredConv2d& conv,
                  const Var& weight,
                  const Var& bias,
                  const Tensor& running_mean,
                  const Tensor& running_var,
                  const Var& residual,
                  const BatchNormOptions& options) {
  Tensor scale = tape.empty(weight.shape(), DType::f32);
  Tensor shift = tape.empty(weight.shape(), DType::f32);
  kernels::batch_norm_affine(tape.context(),
                             weight.value(),
                             bias.value(),
                             running_mean,
                             running_var,
                             options.eps,
                             scale,
                             shift);
  Tensor y = tape.empty(conv.shape(), conv.dtype());
  kernels::conv2d_affine(tape.context(),
                         conv.x(),
                         conv.weight(),
                         conv.bias(),
                         conv.options(),
                         {.scale = scale,
                          .shift = shift,
                          .residual = residual.defined() ? residual.value() : Tensor(),
                          .activation = options.activation,
                          .residual_before_activation = options.residual_before_activation},
                         y);
  return y;
}

}  // namespace

Var batch_norm(const Var& x,
               const Var& weight,
               const Var& bias,
               Tensor running_mean,
               Tensor running_var,
               const Var& residual,
               const BatchNormOptions& options,
               ForwardMode mode) {
  if (const auto cast = autocast(cast_class("batch_norm"), x, residual))
    return batch_norm((*cast)[0],
                      weight,
                      bias,
                      std::move(running_mean),
                      std::move(running_var),
                      (*cast)[1],
                      options,
                      mode);
  const BatchNormPass pass = mode == ForwardMode::eval ? BatchNormPass::eval : BatchNormPass::train;
  Tape& tape = x.tape();
  check(x.shape().rank() >= 2, "batch_norm: x must be (N,...,C), not {}", x.shape());
  const auto* const conv = dynamic_cast<const DeferredConv2d*>(x.deferred());
  if (conv != nullptr && pass == BatchNormPass::eval &&
      kernels::can_fuse_affine(tape.context(), conv->dtype(), options.activation))
    return tape.input(
        taken_over(tape, *conv, weight, bias, running_mean, running_var, residual, options));
  Tensor y = tape.empty(x.shape(), x.dtype());
  const Shape channels{x.shape()[-1]};
  kernels::BatchNormStatistics statistics{tape.empty(channels, wide_dtype(x.dtype())),
                                          tape.empty(channels, wide_dtype(x.dtype()))};
  kernels::BatchNormOperands in{x.value(), weight.value(), bias.value(), {}};
  std::vector<Var> inputs{x, weight, bias};
  if (residual.defined()) {
    in.residual = residual.value();
    inputs.push_back(residual);
  }
  RankBatch batch;
  if (pass == BatchNormPass::train && tape.rank_gather() != nullptr)
    batch = train_over_ranks(tape, in, running_mean, running_var, options, y, statistics);
  else if (pass == BatchNormPass::train)
    kernels::batch_norm_train(
        tape.context(), in, running_mean, running_var, options, y, statistics);
  else
    kernels::batch_norm_eval(tape.context(), in, running_mean, running_var, options, y, statistics);
  return tape.record(std::move(inputs),
                     y,
                     BatchNormNode(pass,
                                   std::move(in),
                                   std::move(statistics),
                                   std::move(running_mean),
                                   std::move(running_var),
                                   options,
                                   std::move(batch)));
}

}  // namespace learn::ops
