#include "framework/nn/loss_registry.h"

namespace learn::nn {
namespace {

void add_of_classes(LossRegistry& registry) {
  registry.add(
      "cross_entropy",
      "softmax cross-entropy of classes",
      0.0,
      [](OptionTable& t, double& smoothing) {
        t.number("label_smoothing",
                 smoothing,
                 kShare,
                 "X",
                 "share of each target that is distributed over all classes");
      },
      [](double smoothing) {
        const auto share = static_cast<float>(smoothing);
        return NamedLoss{TargetKind::classes,
                         [share](const Tensor& weight) {
                           return weight.defined() ? weighted_cross_entropy(weight, share)
                                                   : cross_entropy(share);
                         },
                         true};
      });
}

struct Focal {
  double gamma = 2;
  double alpha = 0.25;
};

void add_of_labels(LossRegistry& registry) {
  registry.add("bce_with_logits", "binary cross-entropy of each of several labels", [] {
    return NamedLoss{TargetKind::labels, &bce_with_logits, true};
  });
  registry.add(
      "focal",
      "binary cross-entropy of each label, with less weight for well-classified ones",
      Focal{},
      [](OptionTable& t, Focal& o) {
        t.number("gamma",
                 o.gamma,
                 kNotNegative,
                 "X",
                 "exponent of 1 - the probability of the true value");
        t.number("alpha",
                 o.alpha,
                 {.low = -1, .high = 1},
                 "X",
                 "weight of positive labels; negative ones have 1 - alpha; -1: both have 1");
      },
      [](const Focal& o) {
        return NamedLoss{TargetKind::labels,
                         [o](const Tensor&) { return focal(o.gamma, o.alpha); }};
      });
}

NamedLoss of_values(Loss loss) {
  return {TargetKind::values, [loss = std::move(loss)](const Tensor&) { return loss; }};
}

void add_of_values(LossRegistry& registry) {
  registry.add("mse", "mean of squared differences", [] { return of_values(mse()); });
  registry.add("l1", "mean of absolute differences", [] { return of_values(l1()); });
  registry.add(
      "huber",
      "mean of squared small differences and linear large ones, from delta on",
      1.0,
      [](OptionTable& t, double& delta) {
        t.number("delta", delta, kPositive, "X", "where it becomes straight");
      },
      [](double delta) { return of_values(huber(delta)); });
  registry.add(
      "smooth_l1",
      "huber divided by its delta, named beta; l1 for beta 0",
      1.0,
      [](OptionTable& t, double& beta) {
        t.number("beta", beta, kNotNegative, "X", "where it becomes straight");
      },
      [](double beta) { return of_values(smooth_l1(beta)); });
  registry.add("cosine", "1 - cosine similarity of a sample's values and its targets", [] {
    return of_values(cosine());
  });
}

}  // namespace

LossRegistry loss_registry() {
  LossRegistry registry("loss");
  add_of_classes(registry);
  add_of_labels(registry);
  add_of_values(registry);
  return registry;
}

std::string usual_loss(TargetKind targets) {
  if (targets == TargetKind::classes) return "cross_entropy";
  return targets == TargetKind::labels ? "bce_with_logits" : "mse";
}

}  // namespace learn::nn
