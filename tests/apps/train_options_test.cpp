#include "apps/learn/train_options.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::cli;

namespace {

struct Resolved {
  TrainOptions options;
  OptionTable table = train_table(options);
  explicit Resolved(const Values& values) { resolve(options, table, values); }
};

}  // namespace

TEST_CASE("flag beats configuration beats preset beats default") {
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  write_file_atomically(config, "[train]\nepochs = 2\nbatch-size = 16\n");
  const Resolved r({{"preset", "quick"}, {"config", config}, {"batch-size", "8"}});
  CHECK(r.options.batch_size == 8);
  CHECK(r.options.epochs == 2);
  CHECK(r.options.data == "synthetic10");
  CHECK(r.options.schedule == "one-cycle");
}

TEST_CASE("every preset is made of options that exist and fit") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    CHECK_NOTHROW(Resolved(Values{{"preset", preset.name}}));
  }
}

TEST_CASE("the written configuration gives the same options again") {
  const TemporaryFolder folder;
  const std::string config = folder / "config.toml";
  const Resolved first({{"preset", "notebook"},
                        {"lr", "0.01:0.1"},
                        {"split", "layers.9,layers.15"},
                        {"classes", "airplane,dog"},
                        {"callbacks", "gradient_clip:limit=1,by=value;terminate_on_nan"},
                        {"warmup", "0.3"},
                        {"precision", "fp16"},
                        {"flat-master", "false"},
                        {"cuda-graph", "true"},
                        {"loss-scale", "512"}});
  write_file_atomically(config, write_config(first.table, "train"));
  const Resolved second(Values{{"config", config}});
  CHECK(write_config(second.table, "train") == write_config(first.table, "train"));
  CHECK(second.options.callbacks.size() == 2);
  CHECK(second.options.cuda_graph);
  CHECK_FALSE(second.options.flat_master);
  CHECK(second.options.lr.size() == 2);
}

TEST_CASE("options that would be ignored are refused") {
  for (const Values& values : std::vector<Values>{
           {{"loss-scale", "512"}},
           {{"loss-scale", "512"}, {"precision", "bf16"}},
           {{"schedule", "one-cycle"}, {"warmup", "0"}},
           {{"schedule", "one-cylce"}},
           {{"model", "resnt9"}},
           {{"optimizer", "smd"}},
           {{"data", "synthetc10"}},
           {{"precision", "fp8"}},
           {{"freeze", "-1"}},
           {{"train-limit", "0"}},
           {{"train-limit", "1.5"}},
           {{"preset", "quik"}},
       }) {
    CAPTURE(values.back().first);
    CAPTURE(values.back().second);
    CHECK_THROWS_AS(Resolved{values}, UsageError);
  }
}

TEST_CASE("each optimizer has a learning rate of its own") {
  CHECK(learning_rates(Resolved(Values{{"optimizer", "sgd"}}).options).spread(1) ==
        std::vector<float>{0.1F});
  CHECK(learning_rates(Resolved(Values{{"optimizer", "adamw"}}).options).spread(1) ==
        std::vector<float>{0.01F});
  CHECK(learning_rates(Resolved(Values{{"lr", "0.3"}}).options).spread(1) ==
        std::vector<float>{0.3F});
}
