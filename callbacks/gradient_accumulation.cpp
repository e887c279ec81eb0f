#include "callbacks/gradient_accumulation.h"

#include "callbacks/registry.h"
#include "framework/core/round_up.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/map/map.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"

#include <array>

namespace learn::callbacks {
namespace {

using kernels::MapProgram;

/// Computes y = program(inputs...).
void map_to(Context& ctx, const MapProgram& program, std::span<const Tensor> inputs, Tensor& y) {
  kernels::MapResult result[] = {{y}};
  kernels::map(ctx, program, inputs, result);
}

Tensor filled(Context& ctx, double value) {
  Tensor out = ctx.empty({1}, DType::f32);
  kernels::fill(ctx, out, value);
  return out;
}

}  // namespace

GradientAccumulation::GradientAccumulation(const AccumulateEvery& every) : every_(every) {
  check<UsageError>(
      every.batches >= 0 && every.samples >= 0 && (every.batches == 0) != (every.samples == 0),
      "gradient_accumulation: give a positive number of batches or of samples, got batches={}, "
      "samples={}",
      every.batches,
      every.samples);
}

std::vector<std::string> GradientAccumulation::claims() const { return {"accumulate gradients"}; }

void GradientAccumulation::train_begin(Learner& learn) {
  const BatchSource& source = learn.train_source();
  const std::int64_t batches = source.batches();
  // All batches of a pass except the last have the same size.
  const std::int64_t window = every_.batches > 0
                                  ? every_.batches
                                  : ceil_div(every_.samples, ceil_div(source.samples(), batches));
  learn.set_planned_steps(learn.progress().epochs * ceil_div(batches, window));
  if (learn.options().loss.weight && !sum_of_weights_.defined())
    for (Tensor* const sum : {&first_weight_, &sum_of_weights_})
      *sum = Tensor(learn.context().persistent(), {1}, DType::f32);
}

Tensor GradientAccumulation::ratio_to_first(Learner& learn) {
  Context& ctx = learn.context();
  const std::int64_t samples = learn.batch().size();
  if (learn.options().loss.weight) {
    Tensor weight = learn.batch().weight;
    if (!weight.defined()) weight = filled(ctx, static_cast<double>(samples));
    return weighted_ratio(learn, weight);
  }
  if (samples == reference_) return {};
  return filled(ctx, static_cast<double>(samples) / static_cast<double>(reference_));
}

/// Uses 1 if the first weight is 0, because the gradients of that batch are 0.
Tensor GradientAccumulation::weighted_ratio(Learner& learn, const Tensor& weight) {
  Context& ctx = learn.context();
  if (window_batches_ == 1) {
    static const MapProgram kFirst = kernels::compile(select(expr::arg(0) > 0, expr::arg(0), 1));
    map_to(ctx, kFirst, std::array{weight}, first_weight_);
    copy(ctx, weight, sum_of_weights_);
  } else {
    kernels::add(ctx, sum_of_weights_, weight, sum_of_weights_);
  }
  static const MapProgram kRatio = kernels::compile(expr::arg(0) / expr::arg(1));
  Tensor ratio = ctx.empty({1}, DType::f32);
  map_to(ctx, kRatio, std::array{weight, first_weight_}, ratio);
  return ratio;
}

/// The loss is a mean over its batch. With the weight n_i of batch i, its number of samples unless
/// the loss says otherwise, the big batch's gradient is the sum of n_i g_i / sum of n_i. Each
/// backward pass is seeded with n_i / n_0, usually 1, which keeps half gradients in the range they
/// have without accumulation; n_0 / sum follows in f32 at the end.
void GradientAccumulation::backward_begin(Learner& learn) {
  const FitProgress& fit = learn.progress();
  const std::int64_t samples = learn.batch().size();
  if (!fit.gradients_held) {
    window_batches_ = 0;
    window_samples_ = 0;
    reference_ = samples;
  }
  ++window_batches_;
  window_samples_ += samples;
  if (Tensor ratio = ratio_to_first(learn); ratio.defined()) {
    if (const Tensor& seed = learn.batch().seed; seed.defined())
      kernels::multiply(learn.context(), seed, ratio, ratio);
    learn.set_seed(ratio);
  }
  const bool full =
      every_.batches > 0 ? window_batches_ >= every_.batches : window_samples_ >= every_.samples;
  const bool last = fit.batch_in_pass + 1 >= fit.batches;
  if (!full && !last) learn.defer_step();
}

void GradientAccumulation::backward_end(Learner& learn) {
  if (learn.batch().outcome == Outcome::deferred) return;
  static const MapProgram kMean =
      kernels::compile(select(expr::arg(2) > 0, expr::arg(0) * expr::arg(1), 0) /
                       select(expr::arg(2) > 0, expr::arg(2), 1));
  Context& ctx = learn.context();
  nn::ParamStore& params = learn.params();
  const bool weighted = static_cast<bool>(learn.options().loss.weight);
  const double factor = static_cast<double>(reference_) / static_cast<double>(window_samples_);
  for (int group = 0; (weighted || factor != 1) && group < params.groups(); ++group)
    for (const nn::Segment& run : params.segments(group)) {
      Tensor grads = params.flat_grad().range(run.begin, run.count);
      if (weighted)
        map_to(ctx, kMean, std::array{grads, first_weight_, sum_of_weights_}, grads);
      else
        kernels::scale(ctx, grads, factor, grads);
    }
  learn.grads_unscaled();
}

void register_gradient_accumulation(CallbackRegistry& registry) {
  registry.add(
      "gradient_accumulation",
      "accumulates gradients over several batches per update",
      AccumulateEvery{},
      [](OptionTable& t, AccumulateEvery& every) {
        t.number("batches",
                 every.batches,
                 kNotNegative,
                 "N",
                 "batches per update; give this or samples");
        t.number(
            "samples", every.samples, kNotNegative, "N", "minimum number of samples per update");
      },
      [](const AccumulateEvery& every, const RunSettings&) {
        return make_callback<GradientAccumulation>(Role::trains, every);
      });
}

}  // namespace learn::callbacks
