#include "callbacks/diagnose/parity_compare.h"
#include "framework/optim/adam.h"
#include "tests/callbacks/diagnose/parity_training.h"

#include <utility>

using namespace tiny;

TEST_CASE("a parity audit names the layer whose optimizer state is too small for a half") {
  LearnerOptions options;
  options.optimizer = optim::adamw({});
  options.lr = 1e-3;
  Fated t({.quiet = 1e-2}, options);
  const ParityAudit audit = audit_parity(t.learn, pure_half(DType::f16), {.epochs = 4});
  const ParityFinding& finding = only_finding(audit);
  CHECK(finding.problem == ParityProblem::update_grows);
  CHECK(finding.layer == "first");
  const auto& evidence = std::get<parity::UpdateGrows>(finding.evidence);
  CHECK(evidence.state == "mean_square");
  CHECK(evidence.emptied >= 0.2);
  CHECK(has(finding.text, "of the optimizer's 'mean_square' there are zero in f16"));
  CHECK(has(finding.advice, "--precision fp16 or fp16-amp"));
  CHECK(has(audit.to_string(), "<- update grows"));
  CHECK(audit_parity(t.learn, pure_half(DType::bf16), {.epochs = 4}).healthy());
  CHECK(audit_parity(t.learn, half_model({.loss_scale = 1024}), {.epochs = 4}).healthy());
}

TEST_CASE("a parity audit attributes the overflows after too long an update to that update") {
  ParityAudit audit{.half = DType::f16};
  for (int i = 0; i < 2; ++i) {
    ParityStep& step = audit.steps.emplace_back();
    step.loss_full = step.loss_half = 1;
    step.applied_full = step.applied_half = true;
    step.layers.push_back({.path = "layer"});
  }
  ParityLayer& first = audit.steps[0].layers[0];
  ParityLayer& second = audit.steps[1].layers[0];
  second.activation = {.count = 1, .overflow = 0.1};
  first.update = {.count = 1, .size = 5};
  first.emptied = 0.3;
  REQUIRE(find_problems(audit).size() == 1);
  CHECK(find_problems(audit)[0].problem == ParityProblem::update_grows);
  CHECK(find_problems(audit)[0].step == 1);
  std::swap(first.activation, second.activation);
  CHECK(find_problems(audit).at(0).problem == ParityProblem::overflow);
  first.activation = second.activation = {};
  first.emptied = 0.1;  // the gradients are so long
  CHECK(find_problems(audit).empty());
}

TEST_CASE("a parity audit reports the updates that are too small for a half") {
  LearnerOptions options = with_momentum();
  options.lr = 1e-5;
  Fated t({}, options);
  for (const DType half : {DType::f16, DType::bf16}) {
    const ParityAudit audit = audit_parity(t.learn, pure_half(half));
    const ParityFinding& finding = only_finding(audit);
    CHECK(finding.problem == ParityProblem::update_lost);
    CHECK(has(finding.text, "of the length of all updates at a rate of 1e-05"));
    CHECK(has(finding.advice, "masters in fp32"));
    CHECK(audit.steps.front().update.size < 0.5);
    CHECK(audit.steps.front().update.zero > 0.5);
    CHECK(audit.steps.front().layers.front().update.zero > 0.5);
    CHECK(audit_parity(t.learn, autocast_to(half)).healthy());
  }
}
