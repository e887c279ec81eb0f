#include "framework/optim/registry.h"

#include "framework/optim/adam.h"
#include "framework/optim/rmsprop.h"
#include "framework/optim/sgd.h"

namespace learn::optim {
namespace {

template <class T>
void take(T& option, const std::optional<T>& setting) {
  if (setting) option = *setting;
}

template <class Options>
void take_common(Options& options, const OptimizerSettings& settings) {
  take(options.lr, settings.lr);
  take(options.weight_decay, settings.weight_decay);
  take(options.decay_bn_bias, settings.decay_bn_bias);
  take(options.flat, settings.flat);
}

template <class T>
void refuse(const char* optimizer, const char* name, const std::optional<T>& setting) {
  if (setting) fail<UsageError>("{} has no option '{}'", optimizer, name);
}

OptimizerFactory make_sgd(const OptimizerSettings& s) {
  refuse("sgd", "beta2", s.beta2);
  refuse("sgd", "eps", s.eps);
  refuse("sgd", "centered", s.centered);
  SgdOptions options;
  take_common(options, s);
  take(options.momentum, s.momentum);
  take(options.dampening, s.dampening);
  take(options.nesterov, s.nesterov);
  take(options.decay, s.decay);
  return sgd(options);
}

AdamOptions adam_options(const char* name, const OptimizerSettings& s) {
  refuse(name, "dampening", s.dampening);
  refuse(name, "nesterov", s.nesterov);
  refuse(name, "centered", s.centered);
  refuse(name, "decay", s.decay);
  AdamOptions options;
  take_common(options, s);
  take(options.beta1, s.momentum);
  take(options.beta2, s.beta2);
  take(options.eps, s.eps);
  return options;
}

OptimizerFactory make_rmsprop(const OptimizerSettings& s) {
  refuse("rmsprop", "dampening", s.dampening);
  refuse("rmsprop", "nesterov", s.nesterov);
  RmsPropOptions options;
  take_common(options, s);
  take(options.momentum, s.momentum);
  take(options.alpha, s.beta2);
  take(options.eps, s.eps);
  take(options.centered, s.centered);
  take(options.decay, s.decay);
  return rmsprop(options);
}

}  // namespace

Registry<OptimizerMaker> optimizers() {
  Registry<OptimizerMaker> registry("optimizer");
  registry.add("sgd",
               "stochastic gradient descent: momentum, dampening, nesterov; decay decoupled unless "
               "told otherwise",
               make_sgd);
  registry.add("adam",
               "Adam with coupled (L2) weight decay: momentum (beta1) 0.9, beta2 0.99, eps 1e-5",
               [](const OptimizerSettings& s) { return adam(adam_options("adam", s)); });
  registry.add("adamw",
               "Adam with decoupled weight decay: momentum (beta1) 0.9, beta2 0.99, eps 1e-5",
               [](const OptimizerSettings& s) { return adamw(adam_options("adamw", s)); });
  registry.add("rmsprop",
               "RMSProp: beta2 (alpha) 0.99, eps 1e-5, momentum, centered; decay decoupled unless "
               "told otherwise",
               make_rmsprop);
  return registry;
}

}  // namespace learn::optim
