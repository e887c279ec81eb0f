#include "callbacks/precision/mixed_precision.h"

#include "callbacks/registry.h"
#include "framework/learner/learner.h"
#include "framework/optim/gradients.h"

namespace learn::callbacks {

MixedPrecision::MixedPrecision(const MixedPrecisionOptions& options)
    : PrecisionCallback("mixed precision",
                        options.dtype == DType::bf16 ? "bf16" : "fp16",
                        options.dtype,
                        options.loss_scale,
                        options.scaling,
                        MixedPrecisionOptions{}.scaling,
                        options.max_skips),
      options_(options) {
  options_.loss_scale = first_scale();
}

void MixedPrecision::begin(Learner& learn) {
  flat_before_ = learn.optimizer().options().flat;
  learn.optimizer().set_flat(options_.flat_master);
  learn.params().set_working_dtype(options_.dtype);
}

void MixedPrecision::end(Learner& learn) {
  learn.optimizer().set_flat(flat_before_);
  learn.params().set_working_dtype(DType::f32);
}

void MixedPrecision::batch_begin(Learner& learn) { cast_input(learn, options_.dtype); }

void MixedPrecision::backward_end(Learner& learn) {
  nn::ParamStore& params = learn.params();
  auto& control = learn.optimizer().control();
  // Gradients of several batches are added in f32, not in half, because the next batch overwrites
  // the half.
  if (!learn.batch().half_gradients_taken)
    optim::unscale_half_gradients(
        params,
        control,
        learn.progress().gradients_held ? GradMode::accumulate : GradMode::overwrite);
  if (learn.batch().outcome == Outcome::deferred) return;
  // Gradients of f32 parameters accumulate in place, still scaled, until the step is due.
  optim::unscale_full_gradients(params, control);
  learn.grads_unscaled();
}

MixedPrecision& to_fp16(Learner& learn, MixedPrecisionOptions options) {
  to_fp32(learn);
  options.dtype = DType::f16;
  return learn.add<MixedPrecision>(options);
}

MixedPrecision& to_bf16(Learner& learn) {
  to_fp32(learn);
  return learn.add<MixedPrecision>(MixedPrecisionOptions{.dtype = DType::bf16});
}

void register_mixed_precision(CallbackRegistry& registry) {
  registry.add(
      "mixed_precision",
      "half precision with f32 master weights",
      MixedPrecisionOptions{},
      [](OptionTable& t, MixedPrecisionOptions& o) {
        declare_half(t, o.dtype, "of weights, activations and their gradients");
        declare_loss_scaling(t, o.loss_scale, o.scaling, o.max_skips);
        t.flag(
            "flat_master", o.flat_master, "update all master weights in one pass, not one by one");
      },
      [](const MixedPrecisionOptions& o, const RunSettings&) {
        return make_callback<MixedPrecision>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
