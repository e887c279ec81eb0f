#include "apps/learn/training/train_options.h"

#include "apps/experiment/config_file.h"
#include "framework/io/atomic_file.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::cli;

namespace {

struct Resolved {
  TrainOptions options;
  OptionTable table = options.table();
  explicit Resolved(const OptionValues& values) { options.resolve(table, values); }
};

}  // namespace

TEST_CASE("flag beats configuration beats preset beats default") {
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  write_file_atomically(config, "[train]\nepochs = 2\nbatch-size = 16\n");
  const Resolved r({{"preset", "quick"}, {"config", config}, {"batch-size", "8"}});
  CHECK(r.options.experiment.training.batch_size == 8);
  CHECK(r.options.experiment.training.epochs == 2);
  CHECK(r.options.experiment.data.data == "synthetic10");
  CHECK(r.options.experiment.training.schedule == "one-cycle");
}

TEST_CASE("every preset is made of options that exist and fit") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    CHECK_NOTHROW(Resolved(OptionValues{{"preset", preset.name}}));
  }
  const Resolved notebook(OptionValues{{"preset", "notebook"}});
  CHECK(notebook.options.experiment.model.model == "darknet");
  CHECK(notebook.options.experiment.training.lr == std::vector<double>{0.1});
}

TEST_CASE("a preset sets options for fp16 only with fp16, and given options override it") {
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  write_file_atomically(config, "[train]\nflat-master = true\n");
  const auto section = [](OptionValues values) {
    values.insert(values.begin(), {"preset", "notebook"});
    return Resolved(values).options.experiment.precision;
  };
  for (const char* const other : {"fp32", "bf16"}) {
    CHECK(section({{"precision", other}}).loss_scale == "dynamic");
    CHECK(section({{"precision", other}}).flat_master);
  }
  CHECK(section({{"precision", "fp16"}}).loss_scale == "512");
  CHECK_FALSE(section({{"precision", "fp16"}}).flat_master);
  CHECK(section({{"precision", "fp16"}, {"loss-scale", "dynamic"}}).loss_scale == "dynamic");
  CHECK(section({{"precision", "fp16"}, {"config", config}}).flat_master);
  CHECK(section({{"precision", "fp16"}, {"config", config}}).loss_scale == "512");
  const OptionValues own{{"precision", "fp16"}, {"callbacks", "mixed_precision:loss_scale=64"}};
  CHECK(section(own).loss_scale ==
        "dynamic");  // has no effect together with it, and would be refused
}

TEST_CASE("the written configuration gives the same options again") {
  const TemporaryFolder folder;
  const std::string config = folder / "config.toml";
  const Resolved first({{"preset", "notebook"},
                        {"lr", "0.01:0.1"},
                        {"optimizer", "sgd:nesterov=true,weight_decay=5e-4"},
                        {"schedule", "step:at=0.3:0.6"},
                        {"split", "layers.9,layers.15"},
                        {"classes", "airplane,dog"},
                        {"callbacks", "gradient_clip:limit=1,by=value;terminate_on_nan"},
                        {"warmup", "0.3"},
                        {"model", "wrn_22:width=2,dropout=0.1"},
                        {"precision", "fp16"},
                        {"flat-master", "false"},
                        {"cuda-graph", "true"},
                        {"loss-scale", "512"}});
  write_file_atomically(config, write_config(first.table, "train"));
  const Resolved second(OptionValues{{"config", config}});
  CHECK(write_config(second.table, "train") == write_config(first.table, "train"));
  CHECK(second.options.experiment.run.callbacks.size() == 2);
  CHECK(second.options.experiment.device.cuda_graph);
  CHECK_FALSE(second.options.experiment.precision.flat_master);
  CHECK(second.options.experiment.training.lr.size() == 2);
}

TEST_CASE(
    "a precision on the command line replaces the file's, whichever of the two options is used") {
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  const auto over = [&](const std::string& file, const OptionValues& values) {
    write_file_atomically(config, "[train]\n" + file);
    OptionValues all{{"config", config}};
    all.insert(all.end(), values.begin(), values.end());
    const Resolved resolved(all);
    CHECK(write_config(resolved.table, "train").find("opt-level") == std::string::npos);
    return resolved.options.experiment.precision;
  };
  const std::string level = "opt-level = \"O1\"\nloss-scale = \"512\"\nkeep-fp32 = [\"linear\"]\n";
  CHECK(over(level, {}).precision == "fp16-amp");
  CHECK(over(level, {}).loss_scale == "512");
  // Options for the file's precision are removed with it if they have no effect.
  CHECK(over(level, {{"precision", "fp32"}}).precision == "fp32");
  CHECK(over(level, {{"precision", "fp32"}}).keep_fp32.empty());
  CHECK(over(level, {{"precision", "bf16"}}).loss_scale == "dynamic");
  CHECK(over(level, {{"precision", "bf16"}}).keep_fp32 == std::vector<std::string>{"linear"});
  CHECK(over(level, {{"opt-level", "O2"}}).precision == "fp16");
  CHECK(over("precision = \"fp16\"\n", {{"opt-level", "O1"}}).precision == "fp16-amp");
  CHECK(over("precision = \"fp16\"\n", {{"opt-level", "O0"}}).precision == "fp32");
  CHECK_THROWS_AS(over(level, {{"precision", "bf16"}, {"loss-scale", "64"}}), UsageError);
  CHECK_THROWS_AS(over("precision = \"bf16\"\nopt-level = \"O2\"\n", {}), UsageError);
}

TEST_CASE("options that would be ignored are refused") {
  const auto refused = [](const OptionValues& values, const char* why) {
    CAPTURE(values.back().first);
    CAPTURE(values.back().second);
    CHECK_THROWS_WITH_AS(Resolved{values}, doctest::Contains(why), UsageError);
  };
  refused({{"loss-scale", "512"}}, "--loss-scale needs --precision fp16");
  refused({{"loss-scale", "512"}, {"precision", "bf16"}}, "not bf16");
  refused(
      {{"precision", "bf16-amp"}, {"callbacks", "native_mixed_precision:dtype=bf16,max_skips=3"}},
      "autocast in bf16 does not skip steps: omit max_skips=3");
  refused({{"inject", "nan@1"}, {"callbacks", "inject:faults=(nan@2)"}},
          "give all faults in one place");
  refused({{"opt-level", "O2"}, {"precision", "bf16"}}, "--opt-level O2 means --precision fp16");
  refused({{"precision", "fp32"}, {"opt-level", "O1"}},
          "--opt-level O1 means --precision fp16-amp");
  refused({{"keep-fp32", "layers.1"}}, "--keep-fp32 has no effect with --precision fp32");
  refused({{"precision", "fp16"}, {"loss-scale", "dynamic:growth=3"}}, "has no option 'growth'");
  refused({{"precision", "fp16"}, {"loss-scale", "dynamic:loss_scale=2,floor=4"}},
          "must be between its floor 4 and its ceiling");
  refused({{"fine-tune", "3"}}, "--fine-tune 3 has no effect without --pretrained RUN");
  const OptionValues::value_type weights{"pretrained", "a.safetensors"};
  refused({weights, {"fine-tune", "3"}, {"epochs", "3"}}, "which takes 1 + 3 epochs");
  refused({weights, {"fine-tune", "3"}, {"schedule", "linear"}}, "has its own schedule");
  refused({weights, {"fine-tune", "3"}, {"lr", "0.1:0.2"}}, "give --lr one number");
  refused({{"schedule", "one-cycle"}, {"warmup", "0"}}, "one-cycle: warmup=0: 0 is not in (0, 1)");
  refused({{"schedule", "one-cycle:warmup=0.1"}, {"warmup", "0.2"}},
          "schedule 'one-cycle' already sets 'warmup'");
  refused({{"schedule", "one-cylce"}}, "did you mean 'one-cycle'?");
  refused({{"schedule", "cosine:ned=1"}}, "did you mean 'end'?");
  refused({{"model", "resnt9"}}, "did you mean 'resnet9'?");
  refused({{"model", "linear:width=3"}}, "linear has no option 'width'");
  refused({{"model", "linear"}, {"width", "3"}}, "--width 3 has no effect: model 'linear'");
  refused({{"schedule", "step:at=0.9:0.1"}}, "must ascend");
  refused({{"optimizer", "smd"}}, "did you mean 'sgd'?");
  refused({{"optimizer", "adam:nesterov=true"}}, "adam has no option 'nesterov'");
  refused({{"optimizer", "sgd:momentum=0.5"}, {"momentum", "0.9"}},
          "optimizer 'sgd' already sets 'momentum'");
  refused({{"optimizer", "sgd:weight_decay=0"}, {"weight-decay", "0"}}, "already sets");
  refused({{"data", "synthetc10"}}, "did you mean 'synthetic10'?");
  refused({{"data", "synthetic10:size=64"}}, "synthetic10 has no option 'size'");
  refused({{"precision", "fp8"}}, "unknown precision 'fp8'");
  refused({{"loss-scale", "dynamical"}}, "must be a number or dynamic, not 'dynamical'");
  refused({{"freeze", "-1"}}, "-1 is not above 0");
  refused({{"train-bn", "false"}}, "--no-train-bn has no effect without --freeze");
  refused({{"train-limit", "0"}}, "0 is not above 0");
  refused({{"train-limit", "1.5"}}, "1.5 is not in (0, 1]");
  refused({{"preset", "quik"}}, "did you mean 'quick'?");
  refused({{"normalize", "1:1:1"}}, "'1:1:1' is not auto, measured, cifar10, or as many means as");
  refused({{"normalize", "0:0:0:1:0:1"}}, "0 is not above 0");
  refused({{"normalize", "imagenet"}}, "'imagenet' is not auto, measured");
  refused({{"callbacks", "ema:decay=2"}}, "ema: decay=2: 2 is not in [0, 1)");
  refused({{"workers", "0"}, {"prefetch", "4"}}, "--prefetch 4 has no effect with --workers 0");
  refused({{"callbacks", "checkpointer"}, {"save-every", "2"}}, "add every=2 to it");
  refused({{"dry-run", "true"}, {"explain", "true"}}, "--dry-run and --explain cannot be combined");
  refused({{"params", "true"}, {"dry-run", "true"}}, "--dry-run and --params cannot be combined");
  refused({{"dry-run", "true"}, {"exist-ok", "true"}}, "--exist-ok has no effect with --dry-run");
}

TEST_CASE("options that were not typed are not refused") {
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  const auto over = [&](const std::string& file, const OptionValues& values) {
    write_file_atomically(config, "[train]\n" + file);
    OptionValues all{{"config", config}};
    all.insert(all.end(), values.begin(), values.end());
    return Resolved(all).options.experiment;
  };
  const test::LogFile log;
  CHECK(over("prefetch = 3\n", {{"workers", "0"}}).data.prefetch == 2);
  CHECK(log.count("[options] prefetch = 3 is ignored") == 1);
  CHECK(over("data = \"/\"\nimage-size = 8\n", {{"data", "synthetic10"}}).data.image_size == 0);
  CHECK(over("width = 3\n", {{"model", "linear"}}).model.width == 0);
  CHECK(over("model = \"mlp\"\ndropout = 0.5\n", {{"model", "linear"}}).model.dropout == 0);
  CHECK(over("freeze = 1\ntrain-bn = false\n", {{"freeze", "none"}}).model.train_bn);
  CHECK_FALSE(
      over("momentum = 0.5\n", {{"optimizer", "sgd:momentum=0.8"}}).training.momentum.has_value());
  CHECK_FALSE(over("weight-decay = 0.5\n", {{"optimizer", "sgd:weight_decay=0"}})
                  .training.weight_decay.has_value());
  CHECK_FALSE(
      over("warmup = 0.5\n", {{"schedule", "cosine:warmup=0.1"}}).training.warmup.has_value());
  CHECK(over("label-smoothing = 0.5\n", {{"loss", "mse"}}).training.label_smoothing == 0);
  CHECK(over("class-weights = \"balanced\"\n", {{"loss", "mse"}}).training.class_weights.empty());
  CHECK(over("save-every = 2\n", {{"callbacks", "checkpointer"}}).run.save_every == 0);
  // Options with an effect stay, and contradicting ones on the command line are refused.
  CHECK(over("prefetch = 3\n", {{"workers", "1"}}).data.prefetch == 3);
  CHECK(over("momentum = 0.5\n", {{"optimizer", "sgd"}}).training.momentum == 0.5);
  CHECK_THROWS_AS(over("workers = 0\nprefetch = 3\n", {}), UsageError);
  CHECK_THROWS_AS(over("workers = 0\n", {{"prefetch", "3"}}), UsageError);
  CHECK_THROWS_AS(over("prefetch = 4\n", {{"prefetch", "3"}, {"workers", "0"}}), UsageError);
}

TEST_CASE("defaults of a written configuration follow the optimizer and the schedule") {
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  Resolved first(OptionValues{});
  write_file_atomically(config, write_config(first.table, "train"));
  const auto over = [&](const OptionValues& values) {
    OptionValues all{{"preset", "darknet-one-cycle"}, {"config", config}};
    all.insert(all.end(), values.begin(), values.end());
    return Resolved(all).options.experiment.training;
  };
  CHECK(over({}).learning_rates().spread(1) == std::vector<float>{0.01F});  // not the preset's
  CHECK(over({{"optimizer", "sgd"}}).learning_rates().spread(1) == std::vector<float>{0.1F});
  CHECK_NOTHROW((void)over({{"schedule", "const"}}));
  CHECK_NOTHROW((void)over({{"optimizer", "sgd:momentum=0.5,weight_decay=0"}}));
}
