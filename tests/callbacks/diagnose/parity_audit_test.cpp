#include "callbacks/diagnose/parity_audit.h"

#include "callbacks/diagnose/inject.h"
#include "callbacks/diagnose/parity_compare.h"
#include "callbacks/ema.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/lambda.h"
#include "framework/io/csv.h"
#include "tests/callbacks/diagnose/parity_training.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// A source whose state is all that it has ever given.
class Counted final : public BatchSource {
 public:
  explicit Counted(Data& data) : data_(data) {}
  [[nodiscard]] std::int64_t batches() const override { return data_.batches(); }
  [[nodiscard]] std::int64_t samples() const override { return data_.samples(); }
  void begin(std::int64_t epoch) override { data_.begin(epoch); }
  [[nodiscard]] bool next(Batch& batch) override {
    const bool more = data_.next(batch);
    given += more ? 1 : 0;
    return more;
  }
  void visit_state(StateVisitor& visitor) override {
    data_.visit_state(visitor);
    visitor.visit("given", given);
  }
  std::int64_t given = 0;

 private:
  Data& data_;
};

/// With a loss scale that no batch is too large for.
std::vector<FitCallback> all_precisions() {
  return {half_model({.loss_scale = 1024}),
          half_model({.dtype = DType::bf16}),
          autocast_to(DType::f16, 1024),
          autocast_to(DType::bf16),
          pure_half(DType::f16),
          pure_half(DType::bf16)};
}

const ParityLayer& layer_of(const ParityAudit& audit, std::string_view path) {
  for (const ParityLayer& layer : audit.steps.front().layers)
    if (layer.path == path) return layer;
  FAIL("no layer " << path);
  return audit.steps.front().layers.front();
}

}  // namespace

TEST_CASE("a parity audit finds a healthy training fine in each precision") {
  for (const FitCallback& half : all_precisions()) {
    Fated t;
    const ParityAudit audit = audit_parity(t.learn, half, {.steps = 5, .epochs = 3});
    CAPTURE(audit.to_string());
    CHECK(audit.healthy());
    REQUIRE(audit.steps.size() == 5);
    CHECK(audit.departure < 0.5);  // most of it is pure bf16's, whose weights are rounded
    CHECK(audit.departure > 0);
    const double unit = audit.half == DType::f16 ? 0x1p-11 : 0x1p-8;
    const ParityLayer& first = layer_of(audit, "first");
    CHECK(first.text.starts_with("Linear"));
    CHECK(first.dtype == audit.half);
    // Inputs and weights are rounded, and so is the sum.
    CHECK(first.activation.error > unit / 8);
    CHECK(first.activation.error < 3 * unit);
    CHECK(first.activation.cosine > 0.999);
    CHECK(first.weights.error > unit / 8);
    CHECK(first.weights.error < 64 * unit);
    CHECK(first.weights.count == 24);
    CHECK(layer_of(audit, "block.norm").weights.count == 16);
    for (const ParityStep& step : audit.steps) {
      CHECK(step.applied_full);
      CHECK(step.applied_half);
      CHECK(step.loss_half == doctest::Approx(step.loss_full).epsilon(0.02));
    }
    CHECK(has(audit.verdict(), "fine: in " + audit.precision));
    CHECK(has(audit.to_string(), "block.linear"));
  }
}

TEST_CASE("a parity audit leaves the learner as it was to the bit") {
  for (const FitCallback& half : all_precisions()) {
    Fated audited;
    Fated plain;
    for (Fated* const t : {&audited, &plain}) {
      t->learn.add<Ema>(EmaOptions{.decay = 0.5});
      t->learn.fit(1, 0.01);
    }
    const Snapshot before(audited.learn);
    (void)audit_parity(audited.learn, half, {.steps = 4});
    CHECK(Snapshot(audited.learn) == before);
    CHECK(audited.learn.params().working_dtype() == DType::f32);
    CHECK_FALSE(audited.learn.autocast());
    CHECK(audited.learn.callbacks().precision() == nullptr);
    CHECK(audited.learn.progress().batch_clock == 3);
    CHECK(&audited.learn.train_source() == &audited.train);
    CHECK(audited.learn.valid_source() == &audited.valid);
    audited.learn.fit(2, 0.01);
    plain.learn.fit(2, 0.01);
    CHECK(Snapshot(audited.learn) == Snapshot(plain.learn));
  }
}

TEST_CASE("a parity audit starts both precisions with the same state and batches") {
  Fated t;
  std::vector<double> weights;
  std::vector<double> inputs;
  std::vector<double> clocks;
  on(t.learn, Event::batch_begin, [&](Learner& l) {
    weights.push_back(get(l.params().master(0), 0));
    inputs.push_back(get(l.batch().x, 1));
    clocks.push_back(static_cast<double>(l.progress().batch_clock));
  });
  // More than a pass: batches of the next one follow.
  (void)audit_parity(t.learn, half_model({.dtype = DType::bf16}), {.steps = 4, .epochs = 2});
  REQUIRE(weights.size() == 8);
  CHECK(weights[0] == weights[4]);
  CHECK(weights[1] != weights[5]);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(inputs[i] == doctest::Approx(inputs[i + 4]).epsilon(0.01));
    CHECK(clocks[i] == clocks[i + 4]);
  }
  CHECK(inputs[0] == inputs[3]);
  CHECK(inputs[0] != inputs[1]);
}

TEST_CASE("a parity audit names the layer whose activations overflow and the module to keep") {
  for (const FitCallback& half : {half_model(), autocast_to(DType::f16)}) {
    Fated t;
    t.multiply("block.linear.weight", 1e6);
    const ParityAudit audit = audit_parity(t.learn, half);
    const ParityFinding& finding = only_finding(audit);
    CHECK(finding.problem == ParityProblem::overflow);
    CHECK(finding.layer == "block.linear");
    CHECK(finding.module.starts_with("Linear(8 -> 8"));
    const auto& evidence = std::get<parity::OutputOverflows>(finding.evidence);
    CHECK(evidence.share == layer_of(audit, "block.linear").activation.overflow);
    CHECK(evidence.largest > 65504);
    CHECK(evidence.holder == "block");
    CHECK(has(finding.text, "'block.linear', Linear(8 -> 8"));
    CHECK(has(finding.text, "65504"));
    CHECK(has(finding.advice, "bf16"));
    CHECK(has(finding.advice, "--keep-fp32 block)"));  // whose norm takes it back
    CHECK(layer_of(audit, "block.linear").activation.overflow > 0.2);
    CHECK(layer_of(audit, "first").activation.overflow == 0);
    // Its statements are true.
    CHECK(audit_parity(t.learn, half_model({.dtype = DType::bf16})).healthy());
    t.learn.keep_f32({"block"});
    CHECK(audit_parity(t.learn, half).healthy());
  }
}

TEST_CASE("a parity audit does not advise keeping a layer that only passes an overflow on") {
  Fated t;
  t.multiply("first.weight", 1e7);
  const ParityFinding finding = audit_parity(t.learn, half_model()).findings.at(0);
  CHECK(finding.problem == ParityProblem::overflow);
  CHECK(finding.layer == "first");
  CHECK_FALSE(has(finding.advice, "--keep-fp32"));
  // Nor a module around it that does.
  LearnerOptions still = with_momentum();
  still.lr = 1e-30;  // fp32 would diverge
  Fated block({}, still);
  block.multiply("block.linear.weight", 1e6);
  block.multiply("block.norm.weight", 1e6);
  const ParityFinding inner = audit_parity(block.learn, half_model()).findings.at(0);
  CHECK(inner.layer == "block.linear");
  CHECK_FALSE(has(inner.advice, "--keep-fp32"));
}

TEST_CASE("a parity audit does not blame a layer for the errors of its input") {
  constexpr double kUnit = 0x1p-11;
  ParityAudit audit{.half = DType::f16};
  ParityStep& step = audit.steps.emplace_back();
  step.loss_full = step.loss_half = 1;
  step.applied_full = step.applied_half = true;
  const auto error = [](double off) { return ParityError{.count = 1, .error = off}; };
  // Forward they grow from layer to layer, and so do gradients back.
  for (const double grown : {1.0, 3.0, 9.0, 27.0, 81.0})
    step.layers.push_back({.path = fmt::format("layer{}", step.layers.size()),
                           .activation = error(grown * kUnit),
                           .gradient = error(1 / grown),
                           .weights = error(1 / grown)});
  CHECK(find_problems(audit).empty());
  step.layers[2].activation.error = 81 * kUnit;
  REQUIRE(find_problems(audit).size() == 1);
  CHECK(find_problems(audit)[0].layer == "layer2");
  CHECK(find_problems(audit)[0].problem == ParityProblem::rounding);
  step.layers[2].activation.error = kUnit;
  step.layers[3].activation.error = step.layers[4].activation.error = kUnit;
  for (std::size_t i = 1; i < 5; ++i) step.layers[i].gradient = step.layers[i].weights = error(0.1);
  REQUIRE(find_problems(audit).size() == 1);
  CHECK(find_problems(audit)[0].layer == "layer0");
  step.layers[0].gradient.error = 0.3;  // its parameters' are far off, and not by themselves
  CHECK(find_problems(audit).empty());
}

TEST_CASE("a parity audit names the layer whose gradients underflow") {
  for (const FitCallback& half : {half_model(), autocast_to(DType::f16)}) {
    Fated t({.quiet = 1e-13});
    const ParityAudit audit = audit_parity(t.learn, half);
    const ParityFinding& finding = only_finding(audit);
    CHECK(finding.problem == ParityProblem::underflow);
    CHECK(finding.layer == "first");
    CHECK(has(finding.text, "which 'quiet' hands back"));
    CHECK(has(finding.text, "100 % of it become zero"));
    CHECK(has(finding.advice, "No loss scale fits both the small and the large gradients"));
    CHECK(layer_of(audit, "first").gradient.zero == 1);
    CHECK(layer_of(audit, "first").weights.error == 1);
    CHECK(layer_of(audit, "first").weights.cosine == 0);
    CHECK(layer_of(audit, "last").weights.error < 0.1);
    CHECK(audit_parity(t.learn, half_model({.dtype = DType::bf16})).healthy());
  }
}

TEST_CASE("a parity audit reports the loss scale that gradients need") {
  LearnerOptions options = with_momentum();
  Fated t({}, options);
  // A loss that is a mean over very many values has such small gradients.
  const auto quiet_loss = [](Learner& l) { l.set_loss(ops::scale(l.batch().loss, 1e-9)); };
  on(t.learn, Event::backward_begin, quiet_loss);
  const ParityAudit audit =
      audit_parity(t.learn, half_model({.loss_scale = 8, .scaling = {.dynamic = false}}));
  const ParityFinding& finding = only_finding(audit);
  CHECK(finding.problem == ParityProblem::underflow);
  CHECK(has(finding.text, "at a loss scale of 8"));
  const std::string flag = "--loss-scale dynamic:loss_scale=";
  REQUIRE(has(finding.advice, flag));
  const float scale = std::stof(finding.advice.substr(finding.advice.find(flag) + flag.size()));
  CHECK(scale > 0x1p16F);
  CHECK(audit_parity(t.learn, half_model({.loss_scale = scale, .scaling = {.ceiling = 0x1p60F}}))
            .healthy());
}

TEST_CASE("a parity audit proposes no loss scale below 1") {
  Fated t;
  const ParityFinding finding = only_finding(
      audit_parity(t.learn, half_model({.loss_scale = 0x1p-24F, .scaling = {.dynamic = false}})));
  CHECK(finding.problem == ParityProblem::underflow);
  CHECK(
      finding.advice.starts_with("a loss scale of 1 (--loss-scale dynamic:loss_scale=1), up to "));
}

TEST_CASE("a parity audit reports the scale at which gradients always overflow") {
  Fated t;
  const FitCallback high = half_model({.loss_scale = 0x1p24F, .scaling = {.dynamic = false}});
  const ParityFinding finding = only_finding(audit_parity(t.learn, high));
  CHECK(finding.problem == ParityProblem::gradient_overflow);
  CHECK(has(finding.text, "overflows at a loss scale of 16777216"));
  const std::string words = "a loss scale of ";
  REQUIRE(finding.advice.starts_with(words));
  const float scale = std::stof(finding.advice.substr(words.size()));
  CHECK(audit_parity(t.learn, half_model({.loss_scale = scale, .scaling = {.dynamic = false}}))
            .healthy());
  // One that moves finds it, before the first step that is compared.
  const ParityAudit moved = audit_parity(t.learn, half_model({.loss_scale = 0x1p24F}));
  CAPTURE(moved.to_string());
  CHECK(moved.healthy());
  CHECK(moved.warm_up > 0);
  CHECK(moved.steps.front().applied_half);
  CHECK(moved.steps.front().loss_scale == 0x1p24 * std::exp2(-moved.warm_up));
  CHECK(has(moved.to_string(), "skipped steps"));
}

TEST_CASE("a parity audit names a floor under which a loss scale would have to go") {
  Fated t({.quiet = 1e30});
  const ParityAudit audit = audit_parity(t.learn, half_model());
  const ParityFinding& finding = only_finding(audit);
  CHECK(finding.problem == ParityProblem::gradient_overflow);
  CHECK(finding.layer == "first");
  CHECK(has(finding.text, "and at every scale that a dynamic one reaches"));
  CHECK(finding.advice.starts_with("bf16"));
}

TEST_CASE("a parity audit distinguishes too high a rate from too low a precision") {
  LearnerOptions options;
  options.optimizer = optim::sgd({.momentum = 0});
  options.lr = 1e4;
  Fated t({}, options);
  for (const FitCallback& half : all_precisions()) {
    const ParityAudit audit = audit_parity(t.learn, half, {.epochs = 4});
    const ParityFinding& finding = audit.findings.at(0);
    CHECK(finding.problem == ParityProblem::rate);
    CHECK(finding.step > 1);
    CHECK(finding.layer.empty());
    CHECK(has(finding.advice, "a longer warm-up: the precision is not the cause"));
    CHECK(audit.findings.size() == 1);
  }
}

TEST_CASE("a parity audit distinguishes weights that are not finite from too low a precision") {
  Fated t;
  t.multiply("block.linear.weight", std::numeric_limits<double>::infinity());
  const ParityFinding finding = only_finding(audit_parity(t.learn, half_model()));
  CHECK(finding.problem == ParityProblem::values);
  CHECK(finding.layer == "block.linear");
}

TEST_CASE("a parity audit names the layer that loses digits") {
  for (const FitCallback& half : all_precisions()) {
    Fated t({.offset = 3000});
    const ParityAudit audit = audit_parity(t.learn, half);
    const ParityFinding& finding = only_finding(audit);
    CHECK(finding.problem == ParityProblem::rounding);
    CHECK(finding.layer == "offset");
    CHECK(has(finding.advice, "--keep-fp32 offset"));
    CHECK(layer_of(audit, "offset").given.error < 0.05);
    t.learn.keep_f32({"offset"});
    CHECK(audit_parity(t.learn, half).healthy());
  }
}

TEST_CASE("a parity audit compares gradients of single batches where they are accumulated") {
  Fated t;
  t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
  const ParityAudit audit = audit_parity(t.learn, half_model({.loss_scale = 1024}));
  CAPTURE(audit.to_string());
  CHECK(audit.healthy());
  CHECK(layer_of(audit, "first").weights.compared());
  for (const ParityLayer& layer : audit.steps.at(1).layers) {
    CHECK_FALSE(layer.weights.compared());
    CHECK(layer.activation.compared());
  }
  CHECK_FALSE(audit.steps.front().applied_half);
  CHECK(audit.steps.at(1).applied_half);
}

TEST_CASE("a parity audit without an update judges the gradients of the first batch") {
  Fated t;
  t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 8});
  const FitCallback scaled = half_model({.loss_scale = 1e9F, .scaling = {.dynamic = false}});
  const ParityFinding finding = only_finding(audit_parity(t.learn, scaled, {.steps = 2}));
  CHECK(finding.problem == ParityProblem::gradient_overflow);
  const ParityAudit audit = audit_parity(t.learn, half_model({.loss_scale = 64}), {.steps = 2});
  CHECK(audit.healthy());
  CHECK(has(audit.verdict(), "No update was made"));
  CHECK(has(audit.to_string(), "64  no"));
}

TEST_CASE("a parity audit limits the loss scale only by gradients that are halves") {
  Fated t;
  const ParityAudit audit = audit_parity(t.learn, half_model({.loss_scale = 64}), {.steps = 1});
  for (const ParityLayer& layer : audit.steps.front().layers) {
    CAPTURE(layer.path);
    // Gradients of a norm's parameters are f32.
    const bool norm = layer.path == "block.norm";
    CHECK(layer.largest_scaled == (norm ? layer.gradient.largest
                                        : std::max(layer.gradient.largest, layer.weights.largest)));
  }
}

TEST_CASE("a parity audit sees faults that are injected") {
  Fated t;
  t.learn.add<FaultInjection>(parse_faults("nan_act@2:block.linear"));
  const ParityAudit audit = audit_parity(t.learn, half_model(), {.epochs = 2});
  CHECK(audit.steps.at(0).layers.size() == audit.steps.at(1).layers.size());
  CHECK_FALSE(std::isfinite(audit.steps.at(1).loss_full));
  CHECK(audit.findings.at(0).problem == ParityProblem::rate);
}

TEST_CASE("a parity audit writes all its numbers to a file") {
  const TemporaryFolder folder;
  Fated t;
  const ParityAudit audit = audit_parity(t.learn, half_model(), {.steps = 2});
  audit.write_csv(folder.path() / "audit.csv");
  const CsvTable table = read_csv(folder.path() / "audit.csv");
  CHECK(table.rows.size() == 2 * audit.steps.front().layers.size());
  CHECK(table.rows.front().at(table.column("layer").value()) == "first");
  CHECK(std::stod(table.rows.front().at(table.column("activation_error").value())) ==
        doctest::Approx(layer_of(audit, "first").activation.error));
}

TEST_CASE("a parity audit refuses what it cannot compare") {
  Fated t;
  CHECK_THROWS_WITH_AS((void)audit_parity(t.learn, half_model(), {.steps = 0}),
                       doctest::Contains("0 steps"),
                       UsageError);
  CHECK_THROWS_WITH_AS((void)audit_parity(t.learn, half_model(), {.epochs = 0}),
                       doctest::Contains("0 epochs"),
                       UsageError);
  CHECK_THROWS_WITH_AS((void)audit_parity(t.learn, std::make_shared<Ema>(EmaOptions{.decay = 0.5})),
                       doctest::Contains("'ema' sets none"),
                       UsageError);
  Fated nothing;
  Data none({});
  nothing.learn.set_data(none);
  CHECK_THROWS_WITH_AS(
      (void)audit_parity(nothing.learn, half_model()), doctest::Contains("no batches"), UsageError);
  Fated busy;
  on(busy.learn, Event::batch_begin, [](Learner& l) { (void)audit_parity(l, half_model()); });
  CHECK_THROWS_WITH_AS(busy.learn.fit(1, 0.01),
                       doctest::Contains("cannot be called from a handler"),
                       std::logic_error);
  to_bf16(t.learn);
  CHECK_THROWS_WITH_AS((void)audit_parity(t.learn, half_model()),
                       doctest::Contains("trains in bf16: call to_fp32 first"),
                       UsageError);
}

TEST_CASE("a parity audit returns a source at its position") {
  Fated t;
  Counted source(t.train);
  t.learn.set_data(source);
  t.learn.fit(1, 0.01);
  REQUIRE(source.given == 3);
  (void)audit_parity(t.learn, half_model(), {.steps = 5, .epochs = 2});
  CHECK(source.given == 3);
}

TEST_CASE("a parity audit refuses a learner in the middle of an epoch") {
  test::MemoryState state;
  Fated cut;
  on(cut.learn, Event::batch_end, [&](Learner& l) {
    if (l.progress().training && l.progress().batch_clock == 2) state = test::save(l.context(), l);
  });
  cut.learn.fit(1, 0.01);
  Fated t;
  test::load(t.ctx, state, t.learn);
  CHECK_THROWS_WITH_AS((void)audit_parity(t.learn, half_model()),
                       doctest::Contains("after 2 of its batches"),
                       UsageError);
}

TEST_CASE("a kept state that does not fit is refused by name") {
  Fated t;
  test::MemoryState state = test::save(t.ctx, t.learn);
  Tensor& kept = state.tensors.at("model.params.first.weight");
  kept = host_tensor({1}, DType::f32);
  CHECK_THROWS_WITH_AS(test::load(t.ctx, state, t.learn),
                       doctest::Contains("model.params.first.weight"),
                       CheckpointError);
}
