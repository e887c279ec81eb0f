#include "callbacks/precision/native_mixed_precision.h"

#include "callbacks/ema.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/nn/layers.h"
#include "tests/callbacks/net_training.h"
#include "tests/learner/tracer.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace tiny;
using namespace learn::callbacks;

namespace {

using Prepare = std::function<void(Learner&)>;

std::vector<double> trained(const Prepare& prepare,
                            std::vector<std::int64_t> sizes = {4, 4, 4},
                            std::int64_t epochs = 2) {
  NetTraining t(std::move(sizes));
  prepare(t.learn);
  t.learn.fit(epochs, 0.05);
  return values(t.learn.params().flat_master());
}

Prepare native(const NativeMixedPrecisionOptions& options) {
  return [options](Learner& l) { l.add<NativeMixedPrecision>(options); };
}

constexpr NativeMixedPrecisionOptions kF16{.loss_scale = 1024.0F};
constexpr NativeMixedPrecisionOptions kBf16{.dtype = DType::bf16};

/// The dtype of what each module makes.
class Outputs final : public ForwardObserver {
 public:
  void forwarded(const nn::Module& module, const Var&, const Var& out) override {
    of[module.path()] = out.dtype();
  }
  std::map<std::string, DType> of;
};

/// Halves inside and f32 outside, as mmcv's auto_fp16 with out_fp32.
class HalfInside final : public nn::Module {
 public:
  explicit HalfInside(const nn::Scope& scope)
      : Module(scope),
        inner_(scope / "inner", kFeatures, 8),
        last_(scope / "last", 8, static_cast<int>(kFeatures)) {}
  [[nodiscard]] std::string describe() const override { return "HalfInside"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override {
    const AutocastRegion region(x.tape(), DType::f16);
    return ops::cast(last_(inner_(x)), DType::f32);
  }

 private:
  nn::Linear inner_;
  nn::Linear last_;
};

}  // namespace

TEST_CASE("autocast: parameters and their gradients stay f32 and layers compute in half") {
  for (const DType half : {DType::f16, DType::bf16}) {
    NetTraining t;
    t.learn.add<NativeMixedPrecision>(NativeMixedPrecisionOptions{.dtype = half});
    Outputs outputs;
    t.learn.tape().observe(&outputs);
    std::int64_t seen = 0;
    on(t.learn, Event::step_begin, [&](Learner& l) {
      ++seen;
      CHECK(l.params().working_dtype() == DType::f32);
      check_one_source_of_truth(l);
      for (std::int64_t i = 0; i < l.params().size(); ++i)
        CHECK(l.params().slot(i).grad.dtype() == DType::f32);
      CHECK(l.batch().x.dtype() == DType::f32);
      CHECK(l.batch().pred.dtype() == DType::f32);
      CHECK(l.batch().loss.dtype() == DType::f32);
    });
    t.learn.fit(1, 0.05);
    CHECK(seen == 3);
    CHECK(outputs.of == std::map<std::string, DType>{
                            {"first", half}, {"norm", half}, {"last", half}, {"", half}});
    t.learn.tape().observe(nullptr);
  }
}

TEST_CASE("autocast training follows f32 training") {
  const std::vector<double> full = trained([](Learner&) {});
  // The bounds are the half model's: ten roundings of 11 bits (f16) and 8 bits (bf16).
  const double f16 = distance(trained(native(kF16)), full);
  const double bf16 = distance(trained(native(kBf16)), full);
  CHECK(f16 < 10 * 0x1p-11);
  CHECK(bf16 < 10 * 0x1p-8);
  CHECK(f16 > 0);
  CHECK(bf16 > f16);
}

TEST_CASE("autocast: an overflow leaves no trace, halves the scale, and the run continues") {
  NetTraining t({4, 4, 4, 4});
  t.train.gain_of_batch = [](std::size_t batch) { return batch == 1 ? 1e6 : 1.0; };
  t.learn.add<NativeMixedPrecision>(NativeMixedPrecisionOptions{.loss_scale = 512.0F});
  std::optional<Snapshot> before;
  std::vector<float> scales;
  on(t.learn, Event::batch_begin, [&](Learner& l) {
    if (l.progress().training && l.progress().batch_in_pass == 1) before.emplace(l);
  });
  on(t.learn, Event::batch_end, [&](Learner& l) {
    if (!l.progress().training) return;
    scales.push_back(l.optimizer().read_control().loss_scale);
    if (l.progress().batch_in_pass == 1) CHECK(Snapshot(l) == *before);
  });
  t.learn.fit(1, 0.01);
  CHECK(scales == std::vector<float>{512, 256, 256, 256});
  CHECK(t.learn.optimizer().read_control().step == 3);
  CHECK(t.learn.optimizer().read_control().skipped == 1);
}

TEST_CASE("autocast: by default the scale grows after torch's 2000 steps") {
  CHECK(NativeMixedPrecision().options().scaling.growth_interval == 2000);
  CHECK(NativeMixedPrecision().options().loss_scale == 65536.0F);
  NetTraining t;
  NativeMixedPrecisionOptions options = kF16;
  options.scaling = {.growth_factor = 4, .growth_interval = 2};
  t.learn.add<NativeMixedPrecision>(options);
  t.learn.fit(2, 0.01);
  CHECK(t.learn.optimizer().read_control().loss_scale == 1024 * 64);
}

TEST_CASE("autocast: a power of two as loss scale changes no bit while nothing underflows") {
  NativeMixedPrecisionOptions one{.loss_scale = 64.0F, .scaling = {.dynamic = false}};
  NativeMixedPrecisionOptions two{.loss_scale = 128.0F, .scaling = {.dynamic = false}};
  CHECK(distance(trained(native(one)), trained(native(two))) < 1e-6);
}

TEST_CASE("autocast: bf16 has no scale and sees no overflow") {
  NetTraining t;
  to_native_bf16(t.learn);
  on(t.learn, Event::step_begin, [](Learner& l) {
    CHECK_FALSE(l.batch().seed.defined());
    CHECK(l.optimizer().read_control().loss_scale == 1);
  });
  t.learn.fit(1, 0.05);
  CHECK(t.learn.optimizer().read_control().step == 3);
}

TEST_CASE("autocast: clipping and accumulation and averages do what they do in f32") {
  const auto run = [](const Prepare& precision) {
    NetTraining t({4, 4, 4, 4, 2});
    precision(t.learn);
    t.learn.add<GradientClip>(0.3F);
    t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
    t.learn.add<Ema>(EmaOptions{.decay = 0.5});
    std::vector<double> norms;
    on(t.learn, Event::step_begin, [&](Learner& l) {
      double sum = 0;
      for (const double g : values(l.grads().flat_grad())) sum += g * g;
      norms.push_back(std::sqrt(sum));
    });
    t.learn.fit(2, 0.05);
    CHECK(t.learn.optimizer().read_control().step == 6);
    std::vector<double> all = values(t.learn.params().flat_master());
    all.insert(all.end(), norms.begin(), norms.end());
    for (auto& [name, state] : t.learn.params().states())
      for (const double v : values(state.values)) all.push_back(v);
    all.push_back(t.learn.results().train_loss);
    all.push_back(t.learn.results().valid_loss);
    return all;
  };
  const std::vector<double> full = run([](Learner&) {});
  // Values of order 1 after some twenty roundings of 11 and 8 bits.
  CHECK(distance(run(native(kF16)), full) < 20 * 0x1p-11);
  CHECK(distance(run(native(kBf16)), full) < 20 * 0x1p-8);
}

TEST_CASE("autocast: a run that continues from saved state gives the same bits, scale included") {
  NativeMixedPrecisionOptions options{.loss_scale = 8.0F};
  options.scaling.growth_interval = 2;
  const auto prepare = [&](Learner& l) {
    l.add<NativeMixedPrecision>(options);
    l.add<GradientClip>(0.3F);
    l.add<Ema>(EmaOptions{.decay = 0.5});
  };
  NetTraining first;
  prepare(first.learn);
  first.learn.fit(1, 0.05);
  const test::MemoryState state = test::save(first.ctx, first.learn);
  first.learn.fit(1, 0.05);

  NetTraining second;
  prepare(second.learn);
  test::load(second.ctx, state, second.learn);
  CHECK(second.learn.optimizer().read_control().loss_scale == 16);
  second.learn.fit(1, 0.05);
  CHECK(Snapshot(second.learn) == Snapshot(first.learn));
  CHECK(second.learn.optimizer().read_control().loss_scale == 64);
}

TEST_CASE("autocast ends with the fit however that ends and validation elsewhere has it too") {
  NetTraining t;
  t.learn.add<NativeMixedPrecision>();
  on(t.learn, Event::loss_begin, [](Learner& l) {
    CHECK(l.autocast() == DType::f16);
    CHECK(l.tape().autocast() == DType::f16);
  });
  t.learn.fit(1, 0.05);
  const double inside = t.learn.results().valid_loss;
  CHECK_FALSE(t.learn.autocast());
  t.learn.validate();
  CHECK(t.learn.results().valid_loss == inside);
  CHECK(t.learn.get_preds(t.valid).loss == inside);
  CHECK_FALSE(t.learn.autocast());
  for (const Event event : {Event::train_begin,
                            Event::batch_begin,
                            Event::backward_end,
                            Event::step_begin,
                            Event::validate_begin,
                            Event::epoch_end}) {
    CAPTURE(name_of(event));
    const auto& cancel = t.learn.add<Once>(event, true, [](Learner& l) { l.cancel(Scope::train); });
    t.learn.fit(1, 0.05);
    CHECK_FALSE(t.learn.autocast());
    t.learn.remove(cancel);
    const auto& fault = t.learn.add<Once>(event, true, [](Learner&) { throw IoError("disk"); });
    CHECK_THROWS_AS(t.learn.fit(1, 0.05), IoError);
    CHECK_FALSE(t.learn.autocast());
    t.learn.remove(fault);
  }
}

TEST_CASE("autocast: layer groups and frozen layers") {
  for (int first = 0; first < 3; ++first) {
    CAPTURE(first);
    NetTraining t;
    t.learn.add<NativeMixedPrecision>(kF16);
    t.learn.split({"norm", "last"});
    t.learn.freeze_to(first);
    nn::ParamStore& params = t.learn.params();
    std::vector<std::vector<double>> before;
    for (std::int64_t i = 0; i < params.size(); ++i) before.push_back(values(params.master(i)));
    t.learn.fit(1, range(0.001, 0.1));
    for (std::int64_t i = 0; i < params.size(); ++i) {
      CAPTURE(params.info(i).name);
      const bool same = values(params.master(i)) == before[static_cast<std::size_t>(i)];
      CHECK(same != params.slot(i).trainable);
    }
    CHECK(t.learn.optimizer().read_control().skipped == 0);
  }
}

TEST_CASE("autocast: an epoch without a single update at the floor is an error") {
  NetTraining t;
  t.learn.add<NativeMixedPrecision>(NativeMixedPrecisionOptions{.loss_scale = 1.0F});
  t.train.gain_of_batch = [](std::size_t) { return INFINITY; };
  CHECK_THROWS_AS(t.learn.fit(1, 0.01), DivergedError);
  CHECK_FALSE(t.learn.autocast());
}

TEST_CASE("the precisions replace each other and two are refused by name") {
  NetTraining t;
  to_fp16(t.learn);
  to_native_fp16(t.learn, kF16);
  CHECK(t.learn.find<MixedPrecision>() == nullptr);
  CHECK(t.learn.find<NativeMixedPrecision>()->options().loss_scale == 1024.0F);
  CHECK_THROWS_WITH_AS(
      t.learn.add<MixedPrecision>(),
      "callbacks 'native_mixed_precision' and 'mixed_precision' both set the precision: remove one "
      "of them",
      UsageError);
  to_native_bf16(t.learn);
  CHECK(t.learn.find<NativeMixedPrecision>()->options().dtype == DType::bf16);
  to_bf16(t.learn);
  CHECK(t.learn.find<NativeMixedPrecision>() == nullptr);
  to_native_bf16(t.learn);
  to_fp32(t.learn);
  CHECK(t.learn.find<NativeMixedPrecision>() == nullptr);
  CHECK_THROWS_AS(NativeMixedPrecision({.dtype = DType::f32}), UsageError);
  CHECK_THROWS_AS(NativeMixedPrecision({.dtype = DType::bf16, .loss_scale = 2.0F}), UsageError);
  CHECK_THROWS_AS(t.learn.set_autocast(DType::f64), DTypeError);
}

TEST_CASE("autocast drops captured steps where it starts and ends and nowhere else") {
  NetTraining t;
  const std::vector<double> before = t.learn.captured_options();
  t.learn.set_autocast(std::nullopt);
  CHECK(t.learn.captured_options() == before);
  t.learn.set_autocast(DType::f16);
  const std::vector<double> inside = t.learn.captured_options();
  CHECK(inside != before);
  t.learn.set_autocast(DType::f16);
  CHECK(t.learn.captured_options() == inside);
  t.learn.set_autocast(std::nullopt);
  CHECK(t.learn.captured_options() != inside);
}

TEST_CASE("a module that is kept in f32 computes in f32 between half neighbours") {
  const auto is_kept = [](const std::vector<std::string>& kept, const std::string& param) {
    return std::any_of(kept.begin(), kept.end(), [&](const std::string& name) {
      return name == "Linear" || param.starts_with(name);
    });
  };
  // Outputs of modules, and the weights in the order of declaration, because they move in memory.
  const auto outputs_with = [&](const Prepare& precision, const std::vector<std::string>& kept) {
    NetTraining t;
    t.learn.keep_f32(kept);
    precision(t.learn);
    Outputs outputs;
    t.learn.tape().observe(&outputs);
    on(t.learn, Event::batch_end, [&](Learner& l) {
      check_one_source_of_truth(l);
      for (std::int64_t i = 0; i < l.params().size(); ++i) {
        const nn::ParamInfo& info = l.params().info(i);
        const bool half = is_half(l.params().working_dtype()) && !is_kept(kept, info.name) &&
                          !nn::is_norm(info.role);
        CHECK(is_half(l.params().slot(i).value.dtype()) == half);
      }
    });
    t.learn.fit(2, 0.05);
    t.learn.tape().observe(nullptr);
    std::vector<double> weights;
    for (std::int64_t i = 0; i < t.learn.params().size(); ++i)
      for (const double v : values(t.learn.params().master(i))) weights.push_back(v);
    return std::pair(outputs.of, weights);
  };
  const auto full = outputs_with([](Learner&) {}, {});
  for (const bool autocast : {false, true}) {
    CAPTURE(autocast);
    const Prepare precision = [&](Learner& l) {
      if (autocast)
        to_native_bf16(l);
      else
        to_bf16(l);
    };
    const auto half = outputs_with(precision, {});
    for (const std::string name : {"last", "Linear"}) {
      CAPTURE(name);
      const auto kept = outputs_with(precision, {name});
      // The output has the type of the input; under autocast the input is f32.
      const DType dtype = autocast && name == "Linear" ? DType::f32 : DType::bf16;
      CHECK(kept.first.at("first") == dtype);
      CHECK(kept.first.at("last") == dtype);
      CHECK(kept.second != half.second);
      CHECK(distance(kept.second, full.second) < 10 * 0x1p-8);
    }
  }
  // In an f32 training the policy changes nothing.
  CHECK(outputs_with([](Learner&) {}, {"last"}) == full);
}

TEST_CASE("a module with its own region computes in half in an f32 training") {
  Training t({4, 4, 4},
             {4},
             with_momentum(),
             nn::make_model<HalfInside>("half inside", {kFeatures}, static_cast<int>(kFeatures)));
  Outputs outputs;
  t.learn.tape().observe(&outputs);
  t.learn.fit(4, 0.05);
  t.learn.tape().observe(nullptr);
  CHECK(outputs.of.at("inner") == DType::f16);
  CHECK(outputs.of.at("last") == DType::f16);
  CHECK(outputs.of.at("") == DType::f32);
  CHECK_FALSE(t.learn.tape().autocast());
  for (std::int64_t i = 0; i < t.learn.params().size(); ++i)
    CHECK(t.learn.params().slot(i).grad.dtype() == DType::f32);
  const double before = t.learn.results().train_loss;
  t.learn.fit(4, 0.05);
  CHECK(t.learn.results().train_loss < before);
}
