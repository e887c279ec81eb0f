#include "callbacks/precision/pure_half.h"

#include "callbacks/registry.h"
#include "framework/learner/learner.h"

namespace learn::callbacks {

PureHalf::PureHalf(const PureHalfOptions& options)
    : PrecisionCallback("pure half precision",
                        options.dtype == DType::bf16 ? "pure-bf16" : "pure-fp16",
                        options.dtype),
      options_(options) {}

void PureHalf::begin(Learner& learn) {
  // Outside a fit nothing is updated, and a validation must not round weights trained in f32.
  const bool fit = learn.progress().activity == Activity::fit;
  learn.params().set_working_dtype(options_.dtype, fit ? nn::Masters::none : nn::Masters::f32);
}

void PureHalf::end(Learner& learn) { learn.params().set_working_dtype(DType::f32); }

void PureHalf::batch_begin(Learner& learn) { cast_input(learn, options_.dtype); }

PureHalf& to_pure_fp16(Learner& learn) {
  to_fp32(learn);
  return learn.add<PureHalf>();
}

PureHalf& to_pure_bf16(Learner& learn) {
  to_fp32(learn);
  return learn.add<PureHalf>(PureHalfOptions{.dtype = DType::bf16});
}

void register_pure_half(CallbackRegistry& registry) {
  registry.add(
      "pure_half",
      "half precision without f32 master weights",
      PureHalfOptions{},
      [](OptionTable& t, PureHalfOptions& o) {
        declare_half(t, o.dtype, "of weights, activations, gradients and the optimizer's state");
      },
      [](const PureHalfOptions& o, const RunSettings&) {
        return make_callback<PureHalf>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
