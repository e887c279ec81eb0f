#include "callbacks/diagnose/param_audit.h"

#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "framework/tensor/factory.h"
#include "tests/callbacks/net_training.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace learn;
using callbacks::audit_params;
using callbacks::AuditedParam;
using callbacks::ParamAudit;

namespace {

/// Calls `twice_` two times, `skipped_` never.
class Odd final : public nn::Module {
 public:
  explicit Odd(const nn::Scope& scope)
      : Module(scope),
        twice_(scope / "twice", tiny::kFeatures, tiny::kFeatures, {.bias = false}),
        skipped_(scope / "skipped", 7, 2) {}
  [[nodiscard]] std::string describe() const override { return "Odd"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return twice_(twice_(x)); }

 private:
  nn::Linear twice_;
  nn::Linear skipped_;
};

AuditedParam of(const ParamAudit& audit, const std::string& name) {
  for (const AuditedParam& p : audit.params)
    if (p.name == name) return p;
  FAIL("no parameter " << name);
  return {};
}

/// A net of three modules with decay, and rates for two groups.
LearnerOptions options(bool decay_all = false, const LearningRates& lr = 0.5) {
  LearnerOptions o;
  o.optimizer = optim::sgd({.momentum = 0.9F, .weight_decay = 0.25F, .decay_bn_bias = decay_all});
  o.lr = lr;
  return o;
}

struct Audited : tiny::Training {
  explicit Audited(const LearnerOptions& o = options())
      : Training({4, 4}, {4}, o, nn::make_model<tiny::LayeredNet>("net", {tiny::kFeatures}, 3)) {}
};

}  // namespace

TEST_CASE("a parameter audit shows group and rate and decay with its reason") {
  Audited t(options(false, {0.125, 0.5}));
  t.learn.split({"last"});
  const ParamAudit audit = audit_params(t.learn);
  REQUIRE(audit.params.size() == 5);
  const AuditedParam first = of(audit, "first.weight");
  CHECK(first.layer_group == 0);
  CHECK(first.lr == 0.125F);
  CHECK(first.weight_decay == 0.25F);
  CHECK(first.calls == 1);
  CHECK(of(audit, "norm.weight").weight_decay == 0);
  CHECK(of(audit, "last.bias").layer_group == 1);
  CHECK(of(audit, "last.bias").lr == 0.5F);
  CHECK(audit.misuse.empty());
  const std::string text = audit.to_string();
  CAPTURE(text);
  CHECK(text.find("none (norm)") != std::string::npos);
  CHECK(text.find("none (bias)") != std::string::npos);
  CHECK(text.find("67 parameters, 67 trained, 0 frozen") != std::string::npos);
  CHECK(text.find("misuse") == std::string::npos);
}

TEST_CASE("a parameter audit shows what halves a training will have") {
  Audited t;
  CHECK_FALSE(audit_params(t.learn).range);
  const std::int64_t full = of(audit_params(t.learn), "first.weight").bytes;
  Tensor master = t.learn.params().master(0);
  set(master, 0, 1e-9);
  callbacks::to_fp16(t.learn);
  ParamAudit audit = audit_params(t.learn);
  CHECK(of(audit, "first.weight").in_model == DType::f16);
  CHECK(of(audit, "first.weight").own_master);
  CHECK(of(audit, "first.weight").bytes == full + std::int64_t{24} * 4);
  CHECK(of(audit, "norm.bias").in_model == DType::f32);
  CHECK_FALSE(of(audit, "norm.bias").own_master);
  REQUIRE(audit.range);
  CHECK(audit.range->params[0].zero == 1);
  CHECK(audit.to_string().find("zero in f16") != std::string::npos);
  CHECK(audit.to_string().find("4.2 %") != std::string::npos);
  callbacks::to_native_bf16(t.learn);
  audit = audit_params(t.learn);
  CHECK(of(audit, "first.weight").in_model == DType::f32);
  CHECK_FALSE(of(audit, "first.weight").own_master);
  REQUIRE(audit.range);
  CHECK(audit.range->half == DType::bf16);
}

TEST_CASE("a parameter audit names decay of biases and norms and rates of zero") {
  Audited t(options(true, {0.0, 0.5}));
  t.learn.split({"last"});
  const ParamAudit audit = audit_params(t.learn);
  REQUIRE(audit.misuse.size() == 2);
  CHECK(audit.misuse[0] == "trained at a rate of 0: first.weight, norm.weight, norm.bias");
  CHECK(audit.misuse[1] ==
        "weight decay of biases or BatchNorm parameters: norm.weight, norm.bias, last.bias");
  t.learn.freeze_to(1, false);  // what is not trained is not misused
  CHECK(audit_params(t.learn).misuse ==
        std::vector<std::string>{"weight decay of biases or BatchNorm parameters: last.bias"});
  CHECK_FALSE(of(audit_params(t.learn), "first.weight").trainable);
}

TEST_CASE("a parameter audit names what gets no gradient and how often a module is called") {
  tiny::Training t({4}, {4}, options(), nn::make_model<Odd>("odd", {tiny::kFeatures}, 3));
  const ParamAudit audit = audit_params(t.learn);
  CHECK(of(audit, "twice.weight").calls == 2);
  CHECK_FALSE(of(audit, "twice.weight").without_gradient);
  CHECK(of(audit, "skipped.bias").calls == 0);
  REQUIRE(audit.misuse.size() == 1);
  CHECK(audit.misuse[0].ends_with("no gradient: skipped.weight, skipped.bias"));
  CHECK(audit.to_string().find("misuse: trained, but") != std::string::npos);
}

TEST_CASE("a parameter audit says that all is frozen") {
  Audited t;
  for (std::int64_t i = 0; i < t.learn.params().size(); ++i)
    t.learn.params().slot(i).trainable = false;
  const ParamAudit audit = audit_params(t.learn);
  CHECK(audit.misuse == std::vector<std::string>{"all parameters are frozen: nothing is trained"});
}

TEST_CASE("a training has the same bits with a parameter audit before and between its fits") {
  Audited plain;
  Audited audited;
  for (int fit = 0; fit < 2; ++fit) {
    plain.learn.fit(1);
    (void)audit_params(audited.learn);
    for (std::int64_t i = 0; i < audited.learn.params().size(); ++i)
      CHECK_FALSE(audited.learn.params().slot(i).has_grad());
    audited.learn.fit(1);
  }
  CHECK(tiny::Snapshot(plain.learn) == tiny::Snapshot(audited.learn));
  CHECK(plain.learn.results().train_loss == audited.learn.results().train_loss);
  // The optimizer's momentum is there by now.
  CHECK(of(audit_params(audited.learn), "first.weight").bytes == 24 * 3 * 4);
}

TEST_CASE("a parameter audit cannot be made by a handler") {
  Audited t;
  callbacks::on(t.learn, Event::batch_begin, [](Learner& l) { (void)audit_params(l); });
  CHECK_THROWS_WITH_AS(
      t.learn.fit(1), doctest::Contains("before or after the fit"), std::logic_error);
}
