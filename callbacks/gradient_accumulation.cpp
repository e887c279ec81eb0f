#include "callbacks/gradient_accumulation.h"

#include "callbacks/registry.h"
#include "framework/core/round_up.h"
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
  // All batches of a pass except the last have the same size.
  const std::int64_t window = every_.batches > 0
                                  ? every_.batches
                                  : ceil_div(every_.samples, ceil_div(source.samples(), batches));
  learn.set_planned_steps(learn.progress().epochs * ceil_div(batches, window));
}

void GradientAccumulation::backward_begin(Learner& learn) {
  const FitProgress& fit = learn.progress();
  if (!fit.gradients_held) {
    window_batches_ = 0;
    window_samples_ = 0;
  }
  ++window_batches_;
  window_samples_ += learn.batch().samples();
  const bool full =
      every_.batches > 0 ? window_batches_ >= every_.batches : window_samples_ >= every_.samples;
  const bool last = fit.batch_in_pass + 1 >= fit.batches;
  if (!full && !last) learn.defer_step();
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
