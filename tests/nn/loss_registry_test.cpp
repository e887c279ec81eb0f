#include "framework/nn/loss_registry.h"

#include "framework/autograd/tape.h"
#include "framework/runtime/context.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace learn;

namespace {

/// Loss of one sample with the outputs 0 and 2 and the targets 1 and 0.
double value(Context& ctx, const char* spec, const Tensor& weight = {}) {
  const std::vector<double> targets{1, 0};
  Tape tape(ctx);
  const nn::Loss loss = nn::loss_registry().make(spec)().make(weight);
  const Var outputs = tape.input(from_values(ctx.persistent(), {1, 2}, std::vector<double>{0, 2}));
  return get(loss.fn(outputs, from_values(ctx.persistent(), {1, 2}, targets)).value(), 0);
}

}  // namespace

TEST_CASE("losses are made by name, with their options, for targets of one kind") {
  Context ctx({.threads = 1});
  const auto registry = nn::loss_registry();
  for (const std::string& name : registry.names()) {
    CAPTURE(name);
    CHECK_FALSE(registry.help(name).empty());
    CHECK(registry.make(name)().make({}).name == name);
  }
  for (const TargetKind kind : {TargetKind::classes, TargetKind::labels, TargetKind::values})
    CHECK(registry.make(nn::usual_loss(kind))().targets == kind);

  // By hand: differences are -1 and 2.
  CHECK(value(ctx, "mse") == 2.5);
  CHECK(value(ctx, "l1") == 1.5);
  CHECK(value(ctx, "huber") == 1);  // (1/2 + 3/2) / 2
  CHECK(value(ctx, "huber:delta=2") == 1.25);
  CHECK(value(ctx, "smooth_l1:beta=2") == 0.625);
  CHECK(value(ctx, "cosine") == 1);
  CHECK(value(ctx, "focal:gamma=0,alpha=-1") == doctest::Approx(value(ctx, "bce_with_logits")));
  CHECK(value(ctx, "focal:gamma=0,alpha=0.5") ==
        doctest::Approx(value(ctx, "bce_with_logits") / 2));
  // -log p of the classes is log(1 + e^-2), and 2 more.
  CHECK(value(ctx, "cross_entropy:label_smoothing=0.5") ==
        doctest::Approx(value(ctx, "cross_entropy") - 0.5));

  const Tensor weight = from_values(ctx.persistent(), {2}, std::vector<double>{3, 1});
  CHECK(value(ctx, "cross_entropy", weight) == doctest::Approx(value(ctx, "cross_entropy")));
  // 3/4 of weight 3 and 1/4 of weight 1, divided by 3.
  const double plain = value(ctx, "cross_entropy");
  CHECK(value(ctx, "cross_entropy:label_smoothing=0.5", weight) ==
        doctest::Approx((2.25 * plain + 0.25 * (plain - 2)) / 3));
  CHECK(value(ctx, "bce_with_logits", weight) > value(ctx, "bce_with_logits"));
  CHECK_THROWS_AS((void)registry.make("huber:delta=0"), UsageError);
}
