#include "callbacks/precision/native_mixed_precision.h"

#include "callbacks/registry.h"
#include "framework/learner/learner.h"
#include "framework/optim/gradients.h"

namespace learn::callbacks {

NativeMixedPrecision::NativeMixedPrecision(const NativeMixedPrecisionOptions& options)
    : PrecisionCallback("autocast",
                        options.dtype == DType::bf16 ? "bf16-amp" : "fp16-amp",
                        options.dtype,
                        options.loss_scale,
                        options.scaling,
                        NativeMixedPrecisionOptions{}.scaling,
                        options.max_skips),
      options_(options) {
  options_.loss_scale = first_scale();
  if (!options.loss_scale && options.dtype == DType::bf16 &&
      options.max_skips != NativeMixedPrecisionOptions{}.max_skips)
    fail<UsageError>("autocast in bf16 does not skip steps: omit max_skips={}", options.max_skips);
}

void NativeMixedPrecision::begin(Learner& learn) { learn.set_autocast(options_.dtype); }

void NativeMixedPrecision::end(Learner& learn) { learn.set_autocast(std::nullopt); }

void NativeMixedPrecision::backward_end(Learner& learn) {
  // Gradients of several batches accumulate in f32, still scaled, until the step is due.
  if (!scaled() || learn.batch().outcome == Outcome::deferred) return;
  optim::unscale_full_gradients(learn.params(), learn.optimizer().control());
  learn.grads_unscaled();
}

NativeMixedPrecision& to_native_fp16(Learner& learn, NativeMixedPrecisionOptions options) {
  to_fp32(learn);
  options.dtype = DType::f16;
  return learn.add<NativeMixedPrecision>(options);
}

NativeMixedPrecision& to_native_bf16(Learner& learn) {
  to_fp32(learn);
  return learn.add<NativeMixedPrecision>(NativeMixedPrecisionOptions{.dtype = DType::bf16});
}

void register_native_mixed_precision(CallbackRegistry& registry) {
  registry.add(
      "native_mixed_precision",
      "autocast: f32 weights, operations in half precision",
      NativeMixedPrecisionOptions{},
      [](OptionTable& t, NativeMixedPrecisionOptions& o) {
        declare_half(t, o.dtype, "of products: convolutions and linear layers");
        declare_loss_scaling(t, o.loss_scale, o.scaling, o.max_skips);
      },
      [](const NativeMixedPrecisionOptions& o, const RunSettings&) {
        return make_callback<NativeMixedPrecision>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
