#include "framework/optim/registry.h"

#include "framework/optim/adam.h"
#include "framework/optim/rmsprop.h"
#include "framework/optim/sgd.h"

namespace learn::optim {
namespace {

template <class Options>
void declare_common(OptionTable& t, Options& o) {
  t.number("weight_decay",
           o.weight_decay,
           kNotNegative,
           "X",
           "weight decay; BatchNorm and biases are exempt");
  t.flag("decay_bn_bias", o.decay_bn_bias, "apply weight decay to BatchNorm and biases too");
  t.flag("flat", o.flat, "update all weights in one pass, not one by one; the bits are the same");
}

template <class Options>
void declare_decay(OptionTable& t, Options& o) {
  t.choice("decay",
           o.decay,
           {{"decoupled", WeightDecay::decoupled}, {"coupled", WeightDecay::coupled}},
           "subtract from the weights, or add to the gradients (L2)");
}

void declare_sgd(OptionTable& t, SgdOptions& o) {
  t.number("momentum", o.momentum, kShare, "M", "momentum");
  t.number("dampening", o.dampening, kShare, "X", "dampening of the momentum");
  t.flag("nesterov", o.nesterov, "use Nesterov momentum");
  declare_decay(t, o);
  declare_common(t, o);
}

void declare_adam(OptionTable& t, AdamOptions& o) {
  t.number("momentum", o.beta1, kShare, "M", "beta1, decay rate of the gradient average");
  t.number("beta2", o.beta2, kShare, "X", "decay rate of the squared-gradient average");
  t.number("eps", o.eps, kPositive, "X", "added to the denominator");
  declare_common(t, o);
}

void declare_rmsprop(OptionTable& t, RmsPropOptions& o) {
  t.number("momentum", o.momentum, kShare, "M", "momentum");
  t.number("beta2", o.alpha, kShare, "X", "alpha, decay rate of the squared-gradient average");
  t.number("eps", o.eps, kPositive, "X", "added to the denominator");
  t.flag("centered", o.centered, "normalize by the centered second moment");
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
