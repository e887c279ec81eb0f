#include "framework/nn/loss.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/core/error.h"
#include "framework/nn/class_shares.h"
#include "framework/tensor/convert.h"

namespace learn::nn {
namespace {

/// Losses are computed in f32, as PyTorch's autocast has it.
Var in_f32(const Var& x) { return ops::cast(x, wide_dtype(x.dtype())); }

void check_target(const char* name, const Var& pred, const Tensor& target) {
  check(target.shape() == pred.shape(),
        "{}: the target has shape {}, the prediction {}",
        name,
        target.shape(),
        pred.shape());
}

/// The mean of `f` over the elements of prediction and target.
Loss elementwise(const char* name, const Expr& f) {
  return {name, [name, f = ops::MapFunction(f, name)](const Var& pred, const Tensor& target) {
            check_target(name, pred, target);
            const Var both[] = {in_f32(pred), pred.tape().input(target)};
            return ops::mean(ops::map(f, both));
          }};
}

Expr huber_of(const Expr& difference, double delta) {
  const Expr distance = abs(difference);
  // For NaN the curve, which passes it on.
  return select(delta < distance, delta * (distance - 0.5 * delta), 0.5 * difference * difference);
}

const char* const kWeighted = "weighted_cross_entropy";

/// Target of each class for each sample: (N,classes).
Tensor shares_of(Tape& tape, const Tensor& target, std::int64_t classes, DType dtype) {
  if (target.dtype() != DType::i64) return target;
  return class_shares(tape.context(), target, classes, dtype);
}

Var sum_of_products(const Var& a, const Var& b) { return ops::sum(ops::mul(a, b)); }

}  // namespace

Loss cross_entropy(float label_smoothing) {
  check<UsageError>(label_smoothing >= 0 && label_smoothing < 1,
                    "cross_entropy: label smoothing {} is not in [0, 1)",
                    label_smoothing);
  return {"cross_entropy", [label_smoothing](const Var& pred, const Tensor& target) {
            return ops::softmax_cross_entropy(pred, target, label_smoothing);
          }};
}

Loss weighted_cross_entropy(const Tensor& weight, float label_smoothing) {
  check<UsageError>(label_smoothing >= 0 && label_smoothing < 1,
                    "{}: label smoothing {} is not in [0, 1)",
                    kWeighted,
                    label_smoothing);
  const double smoothing = label_smoothing;
  const auto weight_of = [weight](Tape& tape, const Tensor& target) {
    const Tensor shares = shares_of(tape, target, weight.elements(), weight.dtype());
    return sum_of_products(tape.input(shares), tape.input(weight));
  };
  const auto loss = [=](const Var& pred, const Tensor& target) {
    check(pred.shape().rank() == 2 && weight.shape() == Shape{pred.shape()[1]},
          "{}: weights of shape {} do not fit logits {}",
          kWeighted,
          weight.shape(),
          pred.shape());
    if (target.dtype() != DType::i64) check_target(kWeighted, pred, target);
    Tape& tape = pred.tape();
    const Var logits = in_f32(pred);
    const Var shares = tape.input(shares_of(tape, target, weight.elements(), logits.dtype()));
    const Var weights = tape.input(weight);
    const double classes = static_cast<double>(pred.shape()[1]);
    const auto term = [=](const Expr& log_p, const Expr& share, const Expr& w) {
      const Expr counts = w * ((1 - smoothing) * share + smoothing / classes);
      // A class of weight 0 costs nothing, even if its probability is 0.
      return select(counts == 0, 0, -log_p * counts);
    };
    const Var total = ops::sum(ops::map(term, ops::log_softmax(logits), shares, weights));
    const auto mean = [](const Expr& sum, const Expr& w) {
      return select(w > 0, sum, 0) / select(w > 0, w, 1);
    };
    return ops::map(mean, total, sum_of_products(shares, weights));
  };
  return {kWeighted, loss, weight_of};
}

Loss mse() {
  return {"mse", [](const Var& pred, const Tensor& target) { return ops::mse(pred, target); }};
}

Loss l1() { return elementwise("l1", abs(expr::arg(0) - expr::arg(1))); }

Loss huber(double delta) {
  check<UsageError>(delta > 0, "huber: delta must be positive, not {}", delta);
  return elementwise("huber", huber_of(expr::arg(0) - expr::arg(1), delta));
}

Loss smooth_l1(double beta) {
  check<UsageError>(beta >= 0, "smooth_l1: beta must not be negative, got {}", beta);
  const Expr difference = expr::arg(0) - expr::arg(1);
  return elementwise("smooth_l1", beta == 0 ? abs(difference) : huber_of(difference, beta) / beta);
}

Loss bce_with_logits(const Tensor& pos_weight) {
  const Expr x = expr::arg(0);
  const Expr t = expr::arg(1);
  if (!pos_weight.defined())
    return elementwise("bce_with_logits", maximum(x, 0) - x * t + log1p(exp(-abs(x))));
  const Expr w = expr::arg(2);
  const Expr f = (1 - t) * x + (1 + (w - 1) * t) * softplus(-x);
  return {"bce_with_logits",
          [pos_weight, f = ops::MapFunction(f)](const Var& pred, const Tensor& target) {
            check_target("bce_with_logits", pred, target);
            check(pred.shape().rank() >= 1 && pos_weight.shape() == Shape{pred.shape()[-1]},
                  "bce_with_logits: weights of shape {} do not fit logits {}",
                  pos_weight.shape(),
                  pred.shape());
            Tape& tape = pred.tape();
            const Var all[] = {in_f32(pred), tape.input(target), tape.input(pos_weight)};
            return ops::mean(ops::map(f, all));
          }};
}

Loss focal(double gamma, double alpha) {
  check<UsageError>(gamma >= 0, "focal: gamma must not be negative, got {}", gamma);
  check<UsageError>(alpha <= 1, "focal: alpha must be at most 1, not {}", alpha);
  const Expr x = expr::arg(0);
  const Expr t = expr::arg(1);
  const Expr cross_entropy = maximum(x, 0) - x * t + log1p(exp(-abs(x)));
  // 1 - p, of which nothing is lost where p is nearly 1.
  const Expr missed = t * sigmoid(-x) + (1 - t) * sigmoid(x);
  const Expr loss = cross_entropy * pow(missed, gamma);
  return elementwise("focal", alpha < 0 ? loss : (alpha * t + (1 - alpha) * (1 - t)) * loss);
}

Loss cosine() {
  const char* const kName = "cosine";
  constexpr double kEps = 1e-12;  // PyTorch's
  return {kName, [=](const Var& pred, const Tensor& target) {
            check_target(kName, pred, target);
            check(pred.shape().rank() >= 1, "{}: {} has no rows", kName, pred.shape());
            const Var x = in_f32(pred);
            const Var t = in_f32(pred.tape().input(target));
            const auto distance = [=](const Expr& product, const Expr& xx, const Expr& tt) {
              return 1 - product / sqrt((xx + kEps) * (tt + kEps));
            };
            return ops::mean(ops::map(
                distance, ops::sum(x * t, {-1}), ops::sum(x * x, {-1}), ops::sum(t * t, {-1})));
          }};
}

}  // namespace learn::nn
