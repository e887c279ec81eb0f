#include "framework/optim/registry.h"

#include "framework/optim/adam.h"
#include "framework/optim/rmsprop.h"
#include "framework/optim/sgd.h"

namespace learn::optim {
namespace {

template <class Options>
void declare_common(OptionTable& t, Options& o) {
  t.number("weight_decay", o.weight_decay, kNotNegative, "X", "of all but BatchNorm and biases");
  t.flag("decay_bn_bias", o.decay_bn_bias, "of those too");
  t.flag("flat", o.flat, "update all weights in one pass, or one by one; the same bits");
}

template <class Options>
void declare_decay(OptionTable& t, Options& o) {
  t.choice("decay",
           o.decay,
           {{"decoupled", WeightDecay::decoupled}, {"coupled", WeightDecay::coupled}},
           "from the weights, or as L2 through the gradients");
}

void declare_sgd(OptionTable& t, SgdOptions& o) {
  t.number("momentum", o.momentum, kShare, "M", "share of the last update");
  t.number("dampening", o.dampening, kShare, "X", "of the gradient in the momentum");
  t.flag("nesterov", o.nesterov, "Nesterov's momentum");
  declare_decay(t, o);
  declare_common(t, o);
}

void declare_adam(OptionTable& t, AdamOptions& o) {
  t.number("momentum", o.beta1, kShare, "M", "beta1");
  t.number("beta2", o.beta2, kShare, "X", "of the squared gradients");
  t.number("eps", o.eps, kPositive, "X", "added to the root");
  declare_common(t, o);
}

void declare_rmsprop(OptionTable& t, RmsPropOptions& o) {
  t.number("momentum", o.momentum, kShare, "M", "share of the last update");
  t.number("beta2", o.alpha, kShare, "X", "alpha, of the squared gradients");
  t.number("eps", o.eps, kPositive, "X", "added to the root");
  t.flag("centered", o.centered, "divide by the estimated deviation");
  declare_decay(t, o);
  declare_common(t, o);
}

}  // namespace

Registry<NamedOptimizer()> optimizer_registry() {
  Registry<NamedOptimizer()> registry("optimizer");
  registry.add("sgd",
               "stochastic gradient descent",
               SgdOptions{.momentum = 0.9F},
               declare_sgd,
               [](const auto& o) {
                 return NamedOptimizer{sgd(o), 0.1};
               });
  registry.add("adam",
               "Adam with coupled (L2) weight decay",
               AdamOptions{},
               declare_adam,
               [](const auto& o) {
                 return NamedOptimizer{adam(o), 0.01};
               });
  registry.add(
      "adamw", "Adam with decoupled weight decay", AdamOptions{}, declare_adam, [](const auto& o) {
        return NamedOptimizer{adamw(o), 0.01};
      });
  registry.add("rmsprop", "RMSProp", RmsPropOptions{}, declare_rmsprop, [](const auto& o) {
    return NamedOptimizer{rmsprop(o), 0.001};
  });
  return registry;
}

}  // namespace learn::optim
