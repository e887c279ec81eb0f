#include "callbacks/gradient_accumulation.h"

#include "callbacks/registry.h"
#include "framework/core/round_up.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/learner/learner.h"

namespace learn::callbacks {

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
  // All batches of a pass have one size, but for the last.
  const std::int64_t window = every_.batches > 0
                                  ? every_.batches
                                  : ceil_div(every_.samples, ceil_div(source.samples(), batches));
  learn.set_planned_steps(learn.progress().epochs * ceil_div(batches, window));
}

/// The loss is a mean over its batch. With n_i samples in batch i, the big batch's gradient is the
/// sum of n_i g_i / sum of n_i. Each backward pass is seeded with n_i / n_0, usually 1, which keeps
/// half gradients in the range they have without accumulation; n_0 / sum follows in f32 at the end.
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
  if (samples != reference_) {
    const double weight = static_cast<double>(samples) / static_cast<double>(reference_);
    Tensor weighted = learn.context().empty({1}, DType::f32);
    if (const Tensor& seed = learn.batch().seed; seed.defined())
      kernels::scale(learn.context(), seed, weight, weighted);
    else
      kernels::fill(learn.context(), weighted, weight);
    learn.set_seed(weighted);
  }
  const bool full =
      every_.batches > 0 ? window_batches_ >= every_.batches : window_samples_ >= every_.samples;
  const bool last = fit.batch_in_pass + 1 >= fit.batches;
  if (!full && !last) learn.defer_step();
}

void GradientAccumulation::backward_end(Learner& learn) {
  if (learn.batch().outcome == Outcome::deferred) return;
  nn::ParamStore& params = learn.params();
  const double factor = static_cast<double>(reference_) / static_cast<double>(window_samples_);
  for (int group = 0; factor != 1 && group < params.groups(); ++group)
    for (const nn::Segment& run : params.segments(group)) {
      Tensor grads = params.flat_grad().range(run.begin, run.count);
      kernels::scale(learn.context(), grads, factor, grads);
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
