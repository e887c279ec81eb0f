#pragma once

/// What Learner, Model and Trainer can do elsewhere by a method and a Learner here by other means,
/// X(there, what to write here): in fastai, Keras and Lightning. A call of one does not compile.
#define LEARN_FOREIGN_METHODS(X)                                                                  \
  X(fine_tune,                                                                                    \
    "freeze(); fit_one_cycle(1, lr); unfreeze(); fit_one_cycle(epochs, range(lr / 200, lr / 2))") \
  X(fit_sgdr, "fit(epochs, lr, {std::make_shared<ParamScheduler>(...)}) with schedules::sgdr")    \
  X(to_fp16, "callbacks::to_native_fp16(learn), autocast, or to_fp16(learn), a half model")       \
  X(to_bf16, "callbacks::to_native_bf16(learn), autocast, or to_bf16(learn), a half model")       \
  X(to_fp32, "callbacks::to_fp32(learn), of callbacks/precision/precision_callback.h")            \
  X(to_native_fp16,                                                                               \
    "callbacks::to_native_fp16(learn), of callbacks/precision/native_mixed_precision.h")          \
  X(to_non_native_fp16, "callbacks::to_fp16(learn), of callbacks/precision/mixed_precision.h")    \
  X(add_cb, "add<Callback>(options)")                                                             \
  X(add_cbs, "add<Callback>(options) for each, or the last argument of fit")                      \
  X(remove_cb, "remove(callback)")                                                                \
  X(remove_cbs, "remove(callback) for each")                                                      \
  X(save, "save_weights(path, learn.params()) or save_state, of framework/io/checkpoint.h")       \
  X(load, "load_weights(path, learn.params()) or load_state, of framework/io/checkpoint.h")       \
  X(save_weights, "save_weights(path, learn.params()), of framework/io/checkpoint.h")             \
  X(load_weights, "load_weights(path, learn.params()), of framework/io/checkpoint.h")             \
  X(summary, "nn::summary(model, params, input, context), of framework/nn/summary.h")             \
  X(show_training_loop, "explain()")                                                              \
  X(tta, "load_run(folder, {.mirrored = true}), of framework/inference/load_run.h")               \
  X(compile, "the constructor, with LearnerOptions: loss, optimizer, metrics")                    \
  X(evaluate, "validate(), after which results() has loss and metrics")                           \
  X(test, "validate(), after set_data, and results()")

namespace learn {

/// What a Learner does not have and what stands in its place; a call is an error of the compiler.
class ForeignMethods {
 public:
#define LEARN_REFUSE(there, here)                                             \
  template <class... Arguments>                                               \
  void there(Arguments&&...) const {                                          \
    static_assert(sizeof...(Arguments) != sizeof...(Arguments),               \
                  "a Learner has no method '" #there "'; here it is: " here); \
  }
  LEARN_FOREIGN_METHODS(LEARN_REFUSE)
#undef LEARN_REFUSE
};

}  // namespace learn
