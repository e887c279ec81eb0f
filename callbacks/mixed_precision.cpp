#include "callbacks/mixed_precision.h"

#include "callbacks/native_mixed_precision.h"
#include "callbacks/registry.h"
#include "framework/autograd/ops/elementwise.h"
#include "framework/kernels/cast/cast.h"
#include "framework/learner/learner.h"
#include "framework/optim/gradients.h"

namespace learn::callbacks {
namespace {

std::optional<float> first_scale_of(const MixedPrecisionOptions& o) {
  if (o.dtype != DType::f16) return std::nullopt;
  return first_loss_scale(o.loss_scale, o.scaling);
}

}  // namespace

MixedPrecision::MixedPrecision(const MixedPrecisionOptions& options)
    : options_(options),
      scaling_(options.dtype == DType::bf16 ? "bf16" : "fp16",
               first_scale_of(options),
               options.scaling) {
  check<UsageError>(
      is_half(options.dtype), "mixed precision needs f16 or bf16, not {}", options.dtype);
  check<UsageError>(scaling_.used() || !options.loss_scale,
                    "mixed precision in bf16 needs no loss scale: leave it out");
  options_.loss_scale = first_scale_of(options);
}

std::vector<std::string> MixedPrecision::claims() const { return {"set the precision"}; }

void MixedPrecision::enter(Learner& learn) {
  entered_ = true;
  flat_before_ = learn.optimizer().options().flat;
  learn.optimizer().set_flat(options_.flat_master);
  scaling_.enter(learn);
  learn.params().set_working_dtype(options_.dtype);
}

void MixedPrecision::leave(Learner& learn) {
  if (!entered_) return;
  entered_ = false;
  learn.optimizer().set_flat(flat_before_);
  LossScaling::leave(learn);
  learn.params().set_working_dtype(DType::f32);
}

void MixedPrecision::train_begin(Learner& learn) {
  scaling_.begin_fit(learn);
  enter(learn);
}

void MixedPrecision::train_end(Learner& learn) { leave(learn); }

void MixedPrecision::error(Learner& learn, const std::exception&) { leave(learn); }

void MixedPrecision::validate_begin(Learner& learn) {
  if (learn.progress().activity != Activity::fit) enter(learn);
}

void MixedPrecision::validate_end(Learner& learn) {
  if (learn.progress().activity != Activity::fit) leave(learn);
}

void MixedPrecision::batch_begin(Learner& learn) {
  const Tensor& x = learn.batch().x;
  if (x.dtype() == options_.dtype) return;
  Tensor half = learn.context().empty(x.shape(), options_.dtype);
  kernels::cast(learn.context(), x, half);
  learn.set_x(half);
}

void MixedPrecision::loss_begin(Learner& learn) {
  learn.set_pred(ops::cast(learn.batch().pred, DType::f32));
}

void MixedPrecision::backward_begin(Learner& learn) { scaling_.seed(learn); }

void MixedPrecision::backward_end(Learner& learn) {
  nn::ParamStore& params = learn.params();
  auto& control = learn.optimizer().control();
  // What several batches give is added in f32, not in half: the next one overwrites the half.
  optim::unscale_half_gradients(
      params,
      control,
      learn.progress().gradients_held ? GradMode::accumulate : GradMode::overwrite);
  if (learn.batch().outcome == Outcome::deferred) return;
  // What is f32 in the model adds up in place, still scaled, until the step is due.
  optim::unscale_full_gradients(params, control);
  learn.grads_unscaled();
}

void MixedPrecision::epoch_end(Learner& learn) { scaling_.end_epoch(learn); }

MixedPrecision& to_fp16(Learner& learn, MixedPrecisionOptions options) {
  to_fp32(learn);
  options.dtype = DType::f16;
  return learn.add<MixedPrecision>(options);
}

MixedPrecision& to_bf16(Learner& learn) {
  to_fp32(learn);
  return learn.add<MixedPrecision>(MixedPrecisionOptions{.dtype = DType::bf16});
}

void to_fp32(Learner& learn) {
  if (const auto* present = learn.find<MixedPrecision>()) learn.remove(*present);
  if (const auto* present = learn.find<NativeMixedPrecision>()) learn.remove(*present);
}

void register_mixed_precision(CallbackRegistry& registry) {
  registry.add(
      "mixed_precision",
      "half precision with f32 master weights",
      MixedPrecisionOptions{},
      [](OptionTable& t, MixedPrecisionOptions& o) {
        t.choice("dtype",
                 o.dtype,
                 {{"f16", DType::f16}, {"bf16", DType::bf16}},
                 "of weights, activations and their gradients");
        declare_loss_scaling(t, o.loss_scale, o.scaling);
        t.flag(
            "flat_master", o.flat_master, "update all master weights in one pass, not one by one");
      },
      [](const MixedPrecisionOptions& o, const RunSettings&) {
        return make_callback<MixedPrecision>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
