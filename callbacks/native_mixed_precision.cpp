#include "callbacks/native_mixed_precision.h"

#include "callbacks/mixed_precision.h"
#include "callbacks/registry.h"
#include "framework/autograd/ops/elementwise.h"
#include "framework/learner/learner.h"
#include "framework/optim/gradients.h"

namespace learn::callbacks {
namespace {

std::optional<float> first_scale_of(const NativeMixedPrecisionOptions& o) {
  if (o.dtype != DType::f16) return std::nullopt;
  return first_loss_scale(o.loss_scale, o.scaling);
}

}  // namespace

NativeMixedPrecision::NativeMixedPrecision(const NativeMixedPrecisionOptions& options)
    : options_(options),
      scaling_(options.dtype == DType::bf16 ? "bf16-amp" : "fp16-amp",
               first_scale_of(options),
               options.scaling) {
  check<UsageError>(is_half(options.dtype), "autocast needs f16 or bf16, not {}", options.dtype);
  check<UsageError>(scaling_.used() || !options.loss_scale,
                    "autocast to bf16 needs no loss scale: leave it out");
  options_.loss_scale = first_scale_of(options);
}

void NativeMixedPrecision::enter(Learner& learn) {
  entered_ = true;
  scaling_.enter(learn);
  learn.set_autocast(options_.dtype);
}

void NativeMixedPrecision::leave(Learner& learn) {
  if (!entered_) return;
  entered_ = false;
  LossScaling::leave(learn);
  learn.set_autocast(std::nullopt);
}

void NativeMixedPrecision::train_begin(Learner& learn) {
  scaling_.begin_fit(learn);
  enter(learn);
}

void NativeMixedPrecision::train_end(Learner& learn) { leave(learn); }

void NativeMixedPrecision::error(Learner& learn, const std::exception&) { leave(learn); }

void NativeMixedPrecision::validate_begin(Learner& learn) {
  if (learn.progress().activity != Activity::fit) enter(learn);
}

void NativeMixedPrecision::validate_end(Learner& learn) {
  if (learn.progress().activity != Activity::fit) leave(learn);
}

void NativeMixedPrecision::loss_begin(Learner& learn) {
  learn.set_pred(ops::cast(learn.batch().pred, DType::f32));
}

void NativeMixedPrecision::backward_begin(Learner& learn) { scaling_.seed(learn); }

void NativeMixedPrecision::backward_end(Learner& learn) {
  // Of several batches gradients add up in f32, still scaled, until the step is due.
  if (!scaling_.used() || learn.batch().outcome == Outcome::deferred) return;
  optim::unscale_full_gradients(learn.params(), learn.optimizer().control());
  learn.grads_unscaled();
}

void NativeMixedPrecision::epoch_end(Learner& learn) { scaling_.end_epoch(learn); }

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
        t.choice("dtype",
                 o.dtype,
                 {{"f16", DType::f16}, {"bf16", DType::bf16}},
                 "of products: convolutions and linear layers");
        declare_loss_scaling(t, o.loss_scale, o.scaling);
      },
      [](const NativeMixedPrecisionOptions& o, const RunSettings&) {
        return make_callback<NativeMixedPrecision>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
