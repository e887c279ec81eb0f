// Builds in a program what `learn train` builds.
#include "apps/experiment/experiment.h"

#include "apps/experiment/config_file.h"
#include "apps/experiment/reporting.h"
#include "apps/experiment/saved_run.h"
#include "callbacks/ema.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/precision/pure_half.h"
#include "framework/inference/saved_model.h"
#include "framework/io/checkpoint.h"
#include "framework/learner/history/recorder.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>

using namespace learn;

namespace {

/// A training of a moment on the CPU, with the given options.
ExperimentOptions tiny(const OptionValues& values = {}) {
  ExperimentOptions options;
  set_options(options.table(),
              {{"data", "synthetic10"},
               {"train-limit", "40"},
               {"valid-limit", "20"},
               {"batch-size", "20"},
               {"epochs", "1"},
               {"model", "small:width=4"},
               {"device", "cpu"},
               {"threads", "1"},
               {"workers", "0"}});
  set_options(options.table(), values);
  return options;
}

std::vector<double> hypers_of(Experiment& experiment) {
  const GroupHypers h = experiment.learner().optimizer().hypers(0);
  return {h.momentum, h.weight_decay, h.beta2, h.eps};
}

}  // namespace

TEST_CASE("an experiment is built and trained by a program, with options by name or by field") {
  const TemporaryFolder folder;
  ExperimentOptions options = tiny({{"precision", "bf16"}, {"ema", "0.9"}, {"clip-norm", "1"}});
  options.run.callbacks = {"csv_logger:path=mine.csv"};
  Experiment experiment(options);
  add_reporting(experiment, folder.path(), write_config(options.table(), "train"));
  experiment.fit();
  Learner& learn = experiment.learner();
  CHECK(learn.progress().step_clock == 2);
  CHECK(learn.find<callbacks::MixedPrecision>()->options().dtype == DType::bf16);
  CHECK(learn.find<callbacks::Ema>() != nullptr);
  CHECK(learn.find<callbacks::GradientClip>() != nullptr);
  CHECK(learn.find<Recorder>()->epochs().size() == 1);
  CHECK(std::filesystem::exists(folder.path() / "mine.csv"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "results.csv"));

  ExperimentOptions again;
  const SafetensorsFile file(folder.path() / "weights" / "last.safetensors");
  set_saved_options(again.table(), file);
  CHECK(write_config(again.table(), "train") == write_config(options.table(), "train"));
  CHECK(saved_value(file, "learn.model") == "small:width=4");
}

TEST_CASE("whether convolutions may use Winograd's algorithm is an option of every experiment") {
  CHECK(tiny().device.context_options().winograd);
  Experiment experiment(tiny({{"winograd", "false"}}));
  CHECK_FALSE(experiment.context().winograd());
}

TEST_CASE("a run that continues with other instructions says so") {
  const TemporaryFolder folder;
  Experiment experiment(tiny());
  experiment.fit();
  const std::string here = experiment.metadata("").at("learn.computed_on");
  for (const std::string& before : {here, std::string("a CPU of another age")}) {
    CAPTURE(before);
    Metadata metadata = experiment.metadata("");
    metadata["learn.computed_on"] = before;
    std::filesystem::create_directories(folder / "weights");
    save_state(
        folder.path() / "weights" / "last.safetensors",
        [&](StateVisitor& visitor) { experiment.learner().visit_state(visitor); },
        metadata);
    const test::LogFile log;
    resume_run(experiment, folder.path());
    CHECK(log.count(fmt::format("computed on {} until now, on {} from now on", before, here)) ==
          (before == here ? 0U : 1U));
  }
}

TEST_CASE("half the batch size, accumulated, makes the same updates") {
  ExperimentOptions halves = tiny({{"model", "linear"}, {"batch-size", "21"}, {"accumulate", "2"}});
  CHECK(halves.training.halve_batch());
  CHECK(halves.training.batch_size == 10);
  CHECK(halves.training.accumulate == 4);
  halves = tiny({{"model", "linear"}, {"optimizer", "sgd"}, {"schedule", "const"}});
  Experiment whole(halves);
  CHECK(halves.training.halve_batch());
  Experiment halved(halves);
  whole.fit();
  halved.fit();
  CHECK(whole.learner().progress().step_clock == 2);
  CHECK(halved.learner().progress().batch_clock == 4);
  CHECK(halved.learner().progress().step_clock == 2);
  const auto a = whole.learner().params().flat_master().span<float>();
  const auto b = halved.learner().params().flat_master().span<float>();
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4).scale(0.01));  // sums in another order
  TrainingSection one{.batch_size = 1};
  CHECK_FALSE(one.halve_batch());
  CHECK(one.batch_size == 1);
}

TEST_CASE("options of the optimizer arrive, from its own text or from the general ones") {
  const auto hypers = [](const OptionValues& values) {
    Experiment experiment(tiny(values));
    return hypers_of(experiment);
  };
  const auto f = [](float value) { return static_cast<double>(value); };
  CHECK(hypers({{"optimizer", "sgd"}})[0] == f(0.9F));
  CHECK(hypers({{"optimizer", "sgd"}})[1] == f(0.01F));
  CHECK(hypers({{"optimizer", "sgd"}, {"momentum", "0.5"}})[0] == 0.5);
  CHECK(hypers({{"optimizer", "sgd:momentum=0.5"}})[0] == 0.5);
  CHECK(hypers({{"optimizer", "sgd:weight_decay=0.25"}})[1] == 0.25);
  CHECK(hypers({{"weight-decay", "0.25"}})[1] == 0.25);
  CHECK(hypers({{"optimizer", "adamw:eps=0.5,beta2=0.75"}})[2] == 0.75);
  CHECK(hypers({{"optimizer", "adamw:eps=0.5,beta2=0.75"}})[3] == 0.5);
}

TEST_CASE("each optimizer has a usual learning rate") {
  const auto rates = [](const OptionValues& values) {
    return tiny(values).training.learning_rates().spread(1);
  };
  CHECK(rates({{"optimizer", "sgd"}}) == std::vector<float>{0.1F});
  CHECK(rates({{"optimizer", "adamw:eps=1e-8"}}) == std::vector<float>{0.01F});
  CHECK(rates({{"lr", "0.3"}}) == std::vector<float>{0.3F});
}

TEST_CASE("the schedule moves the rates, and the momentum unless it was given") {
  const auto rates = [](const OptionValues& values, std::vector<float>* momenta = nullptr) {
    ExperimentOptions options = tiny(values);
    options.training.optimizer = "sgd";
    options.training.lr = {1};
    options.training.epochs = 5;
    Experiment experiment(options);
    auto& recorder = experiment.learner().add<Recorder>();
    experiment.fit();
    std::vector<float> lrs;
    for (const BatchRecord& batch : recorder.batches(experiment.learner())) {
      lrs.push_back(batch.lr);
      if (momenta != nullptr) momenta->push_back(batch.momentum);
    }
    return lrs;
  };
  std::vector<float> momenta;
  const std::vector<float> cycle = rates({}, &momenta);
  CHECK(cycle[0] == doctest::Approx(0.04));
  CHECK(*std::ranges::max_element(cycle) > 0.95F);
  CHECK(momenta[0] == doctest::Approx(0.95));
  CHECK(*std::ranges::min_element(momenta) < 0.86F);
  momenta.clear();
  (void)rates({{"momentum", "0.75"}}, &momenta);
  CHECK(momenta == std::vector<float>(10, 0.75F));
  CHECK(rates({{"schedule", "const"}}) == std::vector<float>(10, 1.0F));
  const std::vector<float> warm = rates({{"schedule", "const"}, {"warmup", "0.5"}});
  CHECK(warm[1] == doctest::Approx(0.2));
  CHECK(warm[5] == 1);
  CHECK(rates({{"schedule", "step:at=0.5,factor=0.5"}})[9] == 0.5F);
}

TEST_CASE("fine-tuning is the learner's, in one fit") {
  const auto rows = [](Experiment& experiment, auto fit) {
    auto& recorder = experiment.learner().add<Recorder>();
    fit();
    std::vector<double> all;
    for (const BatchRecord& batch : recorder.batches(experiment.learner())) {
      all.push_back(static_cast<double>(batch.lr));
      all.push_back(static_cast<double>(batch.momentum));
      all.push_back(batch.loss);
    }
    return all;
  };
  CHECK(tiny({{"fine-tune", "2"}}).training.base_rate() == 0.002);  // fastai's
  Experiment one(tiny({{"fine-tune", "2"}, {"lr", "0.02"}}));
  const std::vector<double> tuned = rows(one, [&] { one.fit(); });
  Experiment two(tiny({{"schedule", "const"}}));
  const std::vector<double> fitted = rows(two, [&] { two.learner().fine_tune(2, 0.02); });
  REQUIRE(tuned.size() == 3 * 6);
  REQUIRE(fitted.size() == tuned.size());
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    CAPTURE(i);
    CHECK(tuned[i] == doctest::Approx(fitted[i]).epsilon(1e-5));  // progress is rounded otherwise
  }
}

TEST_CASE("the body is all layer groups but the last") {
  for (const char* const freeze : {"body", "2"}) {
    Experiment experiment(tiny({{"freeze", freeze}}));
    nn::ParamStore& params = experiment.learner().params();
    for (std::int64_t i = 0; i < params.size(); ++i) {
      CAPTURE(params.info(i).name);
      if (params.info(i).role == nn::ParamRole::weight)
        CHECK(params.slot(i).trainable == (params.info(i).layer_group == 2));
    }
  }
}

TEST_CASE("batches are accumulated from two on") {
  const auto updates = [](const char* accumulate) {
    Experiment experiment(tiny({{"accumulate", accumulate}}));
    experiment.fit();
    return experiment.learner().progress().step_clock;
  };
  CHECK(updates("1") == 2);
  CHECK(updates("2") == 1);
}

TEST_CASE(
    "options that the model or the data do not support are refused when the experiment is built") {
  const auto refused = [](const OptionValues& values, const char* why) {
    CAPTURE(values.back().first);
    CHECK_THROWS_WITH_AS(Experiment{tiny(values)}, doctest::Contains(why), UsageError);
  };
  refused({{"model", "linear"}, {"width", "8"}},
          "--width 8 has no effect: model 'linear' has no option 'width'");
  refused({{"width", "8"}}, "model 'small' already sets 'width'");
  refused({{"dropout", "0.5"}}, "--dropout 0.5 has no effect: model 'small'");
  refused({{"image-size", "64"}},
          "--image-size 64 has no effect: data set 'synthetic10' has no option 'size'");
  refused({{"data-dir", "somewhere"}}, "'somewhere' has no effect");
  refused({{"freeze", "3"}}, "would freeze all of the 3 layer groups");
  refused({{"model", "mlp"}, {"freeze", "1"}}, "has no default layer groups");
  refused({{"monitor", "accurcy"}}, "unknown value 'accurcy' to monitor");
  refused({{"clip-norm", "1"}, {"callbacks", "gradient_clip"}}, "both");
}

TEST_CASE("a mixed precision callback given in full replaces learn's own") {
  Experiment experiment(
      tiny({{"precision", "fp16"}, {"callbacks", "mixed_precision:growth_interval=7"}}));
  CHECK(experiment.learner().find<callbacks::MixedPrecision>()->options().scaling.growth_interval ==
        7);
  const auto refused = [](const OptionValues& values, const char* text) {
    CHECK_THROWS_WITH_AS(tiny(values).check(), doctest::Contains(text), UsageError);
  };
  refused({{"callbacks", "mixed_precision"}}, "use --precision fp16");
  refused({{"callbacks", "native_mixed_precision:dtype=bf16"}}, "use --precision bf16-amp");
  refused({{"precision", "fp16"}, {"callbacks", "mixed_precision:dtype=bf16"}},
          "use --precision bf16");
  refused({{"precision", "fp16"}, {"loss-scale", "8"}, {"callbacks", "mixed_precision"}},
          "add loss_scale=X");
  refused({{"precision", "fp16"}, {"flat-master", "false"}, {"callbacks", "mixed_precision"}},
          "flat_master=false");
}

TEST_CASE("every precision creates its callback with the requested loss scale") {
  const auto half = [](const OptionValues& values) {
    Experiment experiment(tiny(values));
    const auto* const found = experiment.learner().find<callbacks::MixedPrecision>();
    REQUIRE(found != nullptr);
    CHECK(experiment.learner().find<callbacks::NativeMixedPrecision>() == nullptr);
    return found->options();
  };
  const auto native = [](const OptionValues& values) {
    Experiment experiment(tiny(values));
    const auto* const found = experiment.learner().find<callbacks::NativeMixedPrecision>();
    REQUIRE(found != nullptr);
    CHECK(experiment.learner().find<callbacks::MixedPrecision>() == nullptr);
    return found->options();
  };
  CHECK(half({{"precision", "fp16"}}).dtype == DType::f16);
  CHECK(half({{"precision", "bf16"}}).dtype == DType::bf16);
  CHECK(native({{"precision", "fp16-amp"}}).dtype == DType::f16);
  CHECK(native({{"precision", "bf16-amp"}}).dtype == DType::bf16);
  CHECK(native({{"opt-level", "O1"}}).dtype == DType::f16);
  CHECK(half({{"opt-level", "O2"}, {"flat-master", "false"}}).flat_master == false);
  for (const OptionValues& pure :
       {OptionValues{{"opt-level", "O3"}}, {{"precision", "pure-fp16"}}}) {
    Experiment experiment(tiny(pure));
    CHECK(experiment.learner().find<callbacks::PureHalf>()->options().dtype == DType::f16);
  }
  Experiment pure_bf16(tiny({{"precision", "pure-bf16"}}));
  CHECK(pure_bf16.learner().find<callbacks::PureHalf>()->options().dtype == DType::bf16);
  for (const OptionValues& fp32 : {OptionValues{{"opt-level", "O0"}}, {{"precision", "fp32"}}}) {
    Experiment experiment(tiny(fp32));
    CHECK(experiment.learner().find<callbacks::MixedPrecision>() == nullptr);
    CHECK(experiment.learner().find<callbacks::NativeMixedPrecision>() == nullptr);
  }
  const auto fixed = native({{"precision", "fp16-amp"}, {"loss-scale", "512"}});
  CHECK(fixed.loss_scale == 512.0F);
  CHECK_FALSE(fixed.scaling.dynamic);
  const auto moving = half({{"precision", "fp16"},
                            {"loss-scale",
                             "dynamic:loss_scale=64,growth_factor=4,growth_interval=5,"
                             "backoff_factor=0.25,hysteresis=2,floor=8,ceiling=128"}});
  CHECK(moving.loss_scale == 64.0F);
  CHECK(moving.scaling == LossScaleOptions{.growth_factor = 4,
                                           .backoff_factor = 0.25F,
                                           .growth_interval = 5,
                                           .hysteresis = 2,
                                           .floor = 8,
                                           .ceiling = 128});
}

TEST_CASE("the option selects the modules that stay in fp32") {
  Experiment experiment(tiny({{"precision", "bf16"}, {"keep-fp32", "Linear"}}));
  const nn::ParamStore& params = experiment.learner().params();
  for (std::int64_t i = 0; i < params.size(); ++i) {
    const nn::ParamInfo& info = params.info(i);
    CAPTURE(info.name);
    CHECK(info.keeps_f32 == (nn::is_norm(info.role) || info.shape.rank() < 3));
  }
  CHECK_THROWS_WITH_AS(Experiment(tiny({{"precision", "bf16"}, {"keep-fp32", "Linnear"}})),
                       doctest::Contains("did you mean 'Linear'"),
                       UsageError);
}

TEST_CASE("a constant schedule leaves the rate to the user's scheduler") {
  Experiment experiment(tiny(
      {{"schedule", "const"},
       {"lr", "0.5"},
       {"epochs", "2"},
       {"callbacks", "param_scheduler:hyper=lr,value=0.25,schedule=(step:at=0.5,factor=0.1)"}}));
  auto& recorder = experiment.learner().add<Recorder>();
  experiment.fit();
  std::vector<float> rates;
  for (const BatchRecord& batch : recorder.batches(experiment.learner())) rates.push_back(batch.lr);
  CHECK(rates == std::vector<float>{0.25F, 0.25F, 0.025F, 0.025F});
  CHECK_THROWS_WITH_AS(Experiment(tiny({{"callbacks", "param_scheduler:hyper=lr"}})),
                       doctest::Contains("both set the lr"),
                       UsageError);
}

TEST_CASE("an option that a program sets by a wrong name is refused") {
  CHECK_THROWS_WITH_AS(
      (void)tiny({{"epoch", "1"}}), "unknown option 'epoch'; did you mean 'epochs'?", UsageError);
}
